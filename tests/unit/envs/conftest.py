"""Environments on a home-made game, quick to make."""

from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support.tiny_batches import ACTIONS, MakeBatch


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
