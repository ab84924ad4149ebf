"""A run that was interrupted and goes on is the run that was not, to the last bit; and whatever a checkpoint holds, it
holds because that would not be so without it."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import AdaptiveConfig
from mario_a3c.stateful import State
from mario_a3c.training.build import Training, build_training
from mario_a3c.training.global_random import seed_global_generators
from mario_a3c.training.stopping import StopRequest
from tests.support.runs import corridor_config, digest_of, play_the_corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]

# memory, target, replay, noise: every pair of values is there, and all eight combinations of the last three.
COMBINATIONS: list[tuple[Any, Any, bool, bool]] = [
    ("none", "vtrace", False, False),
    ("none", "gae", True, True),
    ("gru", "vtrace", False, True),
    ("gru", "gae", True, False),
    ("lstm", "vtrace", True, False),
    ("lstm", "gae", False, True),
    ("transformer", "gae", False, False),
    ("transformer", "vtrace", True, True),
]
RICHEST: tuple[Any, Any, bool, bool] = ("gru", "vtrace", True, True)


def config_of(folder: Path, target: Any, has_replay: bool) -> TrainingConfig:
    """Everything that has a state is in use, and changes within a few updates."""
    config = corridor_config(folder, collector=CollectorConfig(rollout_steps=6), total_updates=40, clear_window=20)
    return replace(
        config,
        returns=ReturnConfig(target=target),
        replay=ReplayConfig(per=has_replay, per_capacity=64, per_batch=8, per_save=True),
        adaptive=AdaptiveConfig(adaptive=True, adaptive_window=3, adaptive_cooldown=2),
    )


def built(config: TrainingConfig, cache: CacheDir) -> Training:
    """In a process whose generators have been used for other things."""
    seed_global_generators(99)
    return build_training(config, cache, StopRequest())


def advance(training: Training, num_updates: int) -> list[dict[str, Any]]:
    """What the metrics would say."""
    rows = []
    for _ in range(num_updates):
        training.trainer.make_update()
        drawn = [random.random(), float(torch.rand(1)), np.random.standard_normal()]  # by whom it may concern
        rows.append({**asdict(training.trainer.last_stats or pytest.fail("no stats")), "drawn": drawn})
    return rows


def saved_and_loaded(training: Training, folder: Path) -> State:
    return load_checkpoint(save_checkpoint(folder / "cut.pt", training.trainer.parts.state(), {})).state


@pytest.mark.slow  # the fast suite has one of them, with a whole run around it
@pytest.mark.parametrize(("memory", "target", "has_replay", "has_noise"), COMBINATIONS)
def test_twenty_and_twenty_updates_are_forty(
    tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch,
    memory: Any, target: Any, has_replay: bool, has_noise: bool,
) -> None:  # fmt: skip
    play_the_corridor(monkeypatch, recurrent_type=memory, noisy_linear=has_noise)
    config = config_of(tmp_path, target, has_replay)
    whole = built(config, cache)
    seed_global_generators(7)
    expected = advance(whole, 40)
    first = built(config, cache)
    seed_global_generators(7)
    rows = advance(first, 20)
    saved = saved_and_loaded(first, tmp_path)
    first.trainer.parts.close()
    second = built(config, cache)
    second.trainer.parts.restore(saved)
    rows += advance(second, 20)
    assert rows == expected
    assert digest_of(second.trainer.parts.state()) == digest_of(whole.trainer.parts.state()) != digest_of(saved)
    for training in (whole, second):
        training.trainer.parts.close()


# Every item, left out

UPDATES_BEFORE, UPDATES_AFTER = 11, 3
NOT_MISSED = {
    "progress.seconds": "of the clock",
    "collector.actor.weights_version": "the learner says it again when it publishes its weights",
    "collector.actor.memory.noise": "drawn anew when a rollout begins",
    "learner.recovery.num_bad": "counts bad updates in a row, and there are none here",
    **{
        f"collector.envs.{name}": "an output of the last step, which was recorded then"
        for name in ("rewards", "terminated", "truncated", "final_observations", "final_episodes", "observations")
    },
}


def items(state: Any, name: str = "") -> Iterator[str]:
    """What can be left out: single values, and tensors of many layers together."""
    for key, value in state.items():
        path = f"{name}.{key}" if name else key
        if isinstance(value, Mapping) and value and not _are_layers(value):
            yield from items(value, path)
        elif not (isinstance(value, Mapping) and not value):
            yield path


def _are_layers(state: Mapping[str, Any]) -> bool:
    return all("." in key for key in state)


def without(state: Any, path: list[str]) -> Any:
    """The state with one item as it would be if nobody had saved it: another one."""
    key, *rest = path
    for known in state:  # names of layers have dots themselves
        joined = ".".join(path)
        if joined == known or joined.startswith(f"{known}."):
            key, rest = known, joined[len(known) + 1 :].split(".") if joined != known else []
    return {**state, key: without(state[key], rest) if rest else other(state[key])}


def other(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: other(each) for key, each in value.items()}
    if isinstance(value, torch.Tensor):
        return ~value if value.dtype is torch.bool else (value + 1).to(value.dtype)
    if isinstance(value, np.ndarray):
        flipped = np.frombuffer(value.tobytes(), np.uint8) ^ 1
        return flipped.view(value.dtype).reshape(value.shape)
    if isinstance(value, bool):
        return not value
    return 1.5 if value is None else "x" if isinstance(value, str) else value + 1


def outcome(training: Training) -> tuple[list[dict[str, Any]], str]:
    return advance(training, UPDATES_AFTER), digest_of(training.trainer.parts.state())


def is_missed(config: TrainingConfig, cache: CacheDir, saved: State, path: str, expected: Any) -> bool:
    training = built(config, cache)
    try:
        training.trainer.parts.restore(without(saved, path.split(".")))
        return bool(outcome(training) != expected)
    except (KeyError, ValueError, TypeError, IndexError, RuntimeError, OverflowError):
        return True
    finally:
        training.trainer.parts.close()


def left_out_unnoticed(
    folder: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch, step: int
) -> tuple[set[str], int]:
    memory, target, has_replay, has_noise = RICHEST
    play_the_corridor(monkeypatch, recurrent_type=memory, noisy_linear=has_noise)
    config = config_of(folder, target, has_replay)
    whole = built(config, cache)
    advance(whole, UPDATES_BEFORE)
    saved = saved_and_loaded(whole, folder)
    expected = outcome(whole)
    whole.trainer.parts.close()
    same = built(config, cache)
    same.trainer.parts.restore(saved)
    assert outcome(same) == expected
    same.trainer.parts.close()
    paths = list(items(saved))
    assert set(NOT_MISSED) <= set(paths)
    unnoticed = {path for path in paths[::step] if not is_missed(config, cache, saved, path, expected)}
    return unnoticed, len(paths)


def test_some_items_left_out_are_missed(tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unnoticed, num_items = left_out_unnoticed(tmp_path, cache, monkeypatch, step=15)
    assert unnoticed <= set(NOT_MISSED)
    assert num_items > 50


@pytest.mark.slow
def test_every_item_left_out_is_missed(tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unnoticed, num_items = left_out_unnoticed(tmp_path, cache, monkeypatch, step=1)
    assert unnoticed == set(NOT_MISSED)
    print(f"{num_items - len(unnoticed)} of {num_items} items are missed")
