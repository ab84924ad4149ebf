"""A run that does not fit is made smaller, step by step, and says so."""

import logging
from pathlib import Path

import pytest
import torch

from mario_a3c.config import TrainingConfig
from mario_a3c.config.presets import preset_config
from mario_a3c.errors import SetupError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.training import run as run_module
from mario_a3c.training.fitting import fit_memory, steps_down
from mario_a3c.training.run import run_training
from tests.support.runs import corridor_config, play_the_corridor


def size(config: TrainingConfig) -> tuple[int, int, int, int]:
    return (
        config.vector_env.num_envs,
        config.collector.rollout_steps,
        config.replay.per_capacity,
        config.learner.grad_accum,
    )


def with_replay() -> TrainingConfig:
    preset = preset_config("gpu")
    slots = {name: getattr(preset, name) for name in preset.__slots__}
    return TrainingConfig(**{**slots, "replay": ReplayConfig(per=True, per_capacity=256)})


def test_environments_rollout_replay_and_pieces_go_down_in_turn() -> None:
    assert [size(config) for config in steps_down(with_replay())] == [
        (256, 64, 256, 1),
        (128, 64, 256, 1),
        (64, 64, 256, 1),
        (32, 64, 256, 1),
        (32, 32, 256, 1),
        (32, 16, 256, 1),
        (32, 16, 128, 1),
        (32, 16, 64, 1),
        (32, 16, 32, 1),
        (32, 16, 32, 2),
        (32, 16, 32, 4),
    ]


@pytest.mark.parametrize(
    "shortage",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("FIND was unable to find an engine to execute this computation"),  # cuDNN's word for it
    ],
)
def test_the_largest_that_fits_is_taken_and_said(shortage: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def attempt(config: TrainingConfig) -> None:
        if config.vector_env.num_envs > 128:
            raise shortage

    with caplog.at_level(logging.INFO, "mario.train.memory"):
        assert fit_memory(preset_config("gpu"), attempt).vector_env.num_envs == 128
    said = [record.getMessage() for record in caplog.records]
    assert said[-1] == "128 environments x 64 steps fits"
    assert len(said) == 3


def test_other_errors_are_not_mistaken_for_a_shortage() -> None:
    def attempt(_: TrainingConfig) -> None:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes"):
        fit_memory(preset_config("gpu"), attempt)


def test_where_nothing_fits_the_remedy_is_named() -> None:
    def attempt(_: TrainingConfig) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    with pytest.raises(SetupError, match="free the device"):
        fit_memory(preset_config("gpu"), attempt)


@pytest.mark.parametrize("is_asked", [True, False])
def test_the_environment_variable_means_the_flag(
    is_asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_the_corridor(monkeypatch)
    attempts: list[TrainingConfig] = []
    monkeypatch.setattr(run_module, "attempt_update", lambda config, *_: attempts.append(config))
    monkeypatch.setenv("AUTO_MEM", "1" if is_asked else "0")
    run_training(corridor_config(tmp_path, total_updates=1))
    assert len(attempts) == is_asked
