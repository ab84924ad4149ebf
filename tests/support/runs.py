"""Whole training runs on the corridor: built by the real composition root, small enough for tests."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.cache_dir import CacheConfig
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig, RunConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.metrics.config import MetricsConfig
from mario_a3c.models.config import ExecutionConfig, RecurrentType
from mario_a3c.models.execution import Execution
from mario_a3c.training import build
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor

NUM_ENVS = 8
SHORT = CollectorConfig(rollout_steps=4)
ROLLOUT = SHORT.rollout_steps * NUM_ENVS  # steps of a short one


def corridor_config(folder: Path, *, collector: CollectorConfig | None = None, **budget: Any) -> TrainingConfig:
    return TrainingConfig(
        budget=BudgetConfig(**{"clear_window": 50, **budget}),
        run=RunConfig(save_dir=folder / "runs", run_name="corridor", log_interval=0.0),
        vector_env=MarioVectorEnvConfig(num_envs=NUM_ENVS, env=MarioEnvConfig(frame_stack=2)),
        collector=collector or CollectorConfig(rollout_steps=16),
        execution=ExecutionConfig(device="cpu"),
        learner=LearnerConfig(lr=2e-3, epochs=2, minibatches=2),
        metrics=MetricsConfig(metrics_interval=0.0, return_window=50, tensorboard_dir=folder / "tensorboard"),
        cache=CacheConfig(cache_dir=folder / "cache"),
    )


def resumed(config: TrainingConfig, **budget: Any) -> TrainingConfig:
    return replace(
        config, run=replace(config.run, resume="latest"), budget=replace(config.budget, max_steps=None, **budget)
    )


def play_the_corridor(
    monkeypatch: pytest.MonkeyPatch, *, recurrent_type: RecurrentType = "gru", noisy_linear: bool = False
) -> None:
    """From now on runs are about the corridor, with a network that costs little."""

    def make_envs(config: TrainingConfig, *_: Any) -> list[EnvBatch]:
        groups = build.group_sizes(config)
        return [Corridor(size, frame_stack=1, seed=sum(groups[:index])) for index, size in enumerate(groups)]

    def make_model(config: TrainingConfig, _: Any, execution: Execution, envs: Any) -> Any:
        return make_network(
            envs.num_actions, seed=config.vector_env.seed, frame_stack=2, recurrent_type=recurrent_type,
            noisy_linear=noisy_linear, execution=execution,
        )  # fmt: skip

    monkeypatch.setattr(build, "make_envs", make_envs)
    monkeypatch.setattr(build, "make_model", make_model)


def digest_of(state: Any) -> str:
    """Of everything in a state, but for times."""
    digest = hashlib.sha256()
    for name, value in sorted(_leaves(state)):
        if not name.endswith("seconds"):
            digest.update(name.encode() + value)
    return digest.hexdigest()


def _leaves(state: Any, name: str = "") -> Sequence[tuple[str, bytes]]:
    if hasattr(state, "items"):
        return [leaf for key, value in state.items() for leaf in _leaves(value, f"{name}.{key}")]
    if isinstance(state, torch.Tensor):
        return [(name, state.contiguous().view(torch.uint8).numpy().tobytes() if state.dim() else str(state).encode())]
    return [(name, state.tobytes() if hasattr(state, "tobytes") else repr(state).encode())]
