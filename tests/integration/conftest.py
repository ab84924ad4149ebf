"""Fixtures of the slow tests that play the game."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.native.cartridge import read_cartridge
from mario_a3c.native.engine import obtain_engine


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> CacheDir:
    return CacheDir.open(CacheConfig(cache_dir=tmp_path_factory.mktemp("session") / "cache"))


@pytest.fixture(scope="session")
def engine_path(game_rom: Path, session_cache: CacheDir) -> Path:
    """The game's program, compiled once for all tests."""
    return obtain_engine(read_cartridge(game_rom), session_cache)
