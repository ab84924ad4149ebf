"""Networks here are tiny, and the game is home-made."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from tests.support.tiny_game import write_tiny_game
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]


@pytest.fixture(scope="session")
def tiny_game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_game(tmp_path_factory.mktemp("tiny_game"))


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory: pytest.TempPathFactory) -> CacheDir:
    """Shared, so that the start states are made once."""
    return CacheDir.open(CacheConfig(cache_dir=tmp_path_factory.mktemp("tiny_cache") / "cache"))
