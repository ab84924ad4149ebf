"""Short runs of the game itself, and what may be expected of the machine they run on."""

import os
from pathlib import Path
from typing import Any

from mario_a3c.cache_dir import CacheConfig
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig, RunConfig
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.metrics.config import MetricsConfig
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.native.config import EngineConfig, RomConfig


def small_config(
    folder: Path, rom: Path, *, num_threads: int = 1, overlap: bool = False, **budget: Any
) -> TrainingConfig:
    return TrainingConfig(
        budget=BudgetConfig(**budget),
        run=RunConfig(save_dir=folder, run_name="small"),
        vector_env=MarioVectorEnvConfig(num_envs=6, num_threads=num_threads),
        collector=CollectorConfig(rollout_steps=8, overlap_collect=overlap),
        model=ModelConfig(hidden_size=32),
        execution=ExecutionConfig(device="cpu"),
        learner=LearnerConfig(epochs=2, minibatches=2),
        engine=EngineConfig(engine="interpreter"),
        rom=RomConfig(rom=rom),
        metrics=MetricsConfig(tensorboard_dir=folder / "tensorboard"),
        cache=CacheConfig(cache_dir=folder / "cache"),
    )


def slowness() -> float:
    """How many others want the same core: tests run on machines that have other work."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
