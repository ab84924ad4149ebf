"""The home-made game, for the rooms that play it."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from tests.support.tiny_game import write_tiny_game


@pytest.fixture(scope="session")
def tiny_game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_game(tmp_path_factory.mktemp("tiny_game"))


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory: pytest.TempPathFactory) -> CacheDir:
    """Shared, so that the start states are made once."""
    return CacheDir.open(CacheConfig(cache_dir=tmp_path_factory.mktemp("tiny_cache") / "cache"))
