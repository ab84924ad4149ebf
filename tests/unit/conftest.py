"""The home-made game, for the rooms that play it."""

from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support.tiny_batches import ACTIONS, MakeBatch
from tests.support.tiny_game import write_tiny_game


@pytest.fixture(scope="session")
def tiny_game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_game(tmp_path_factory.mktemp("tiny_game"))


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory: pytest.TempPathFactory) -> CacheDir:
    """Shared, so that the start states are made once."""
    return CacheDir.open(CacheConfig(cache_dir=tmp_path_factory.mktemp("tiny_cache") / "cache"))


@pytest.fixture
def make_batch(tiny_game: Path, tiny_cache: CacheDir) -> MakeBatch:
    """Options of one environment, and of the batch where they are named so."""

    def make(
        num_envs: int = 2,
        num_threads: int = 1,
        seed: int = 0,
        first_env: int = 0,
        progress_map: ProgressMap | None = None,
        discount: float | None = None,
        **options: Any,
    ) -> MarioBatch:
        env = MarioEnvConfig(**{"action_set": "custom", "actions": ACTIONS, "frame_stack": 2, **options})
        return MarioBatch(
            MarioVectorEnvConfig(num_envs=num_envs, num_threads=num_threads, seed=seed, env=env),
            rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
            engine=EngineConfig(engine="interpreter"),
            cache=tiny_cache,
            first_env=first_env,
            progress_map=progress_map,
            discount=discount,
        )

    return make
