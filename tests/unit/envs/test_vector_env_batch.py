"""Gymnasium's vector environments as a batch: what the learner sees is what native environments would show it."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import Vectorization
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.factory import create_vector_env
from mario_a3c.envs.mario_batch import MarioBatch, env_seeds
from mario_a3c.envs.process_vector_env import ProcessVectorEnv
from mario_a3c.envs.vector_env_batch import VectorEnvBatch
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support.tiny_batches import ACTIONS, NOOP, RIGHT, MakeBatch

_ARRAYS = ("observations", "terminated", "truncated", "episodes")


def as_others(native: MarioBatch, tiny_game: Path, cache: CacheDir, vectorization: Vectorization) -> VectorEnvBatch:
    envs = create_vector_env(
        replace(native.config, vectorization=vectorization),
        rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        cache=cache,
    )
    return VectorEnvBatch(envs, env_seeds(native.config.seed, 0, native.num_envs).tolist())


@pytest.mark.parametrize("options", [{}, {"noop_max": 30, "sticky": 0.25, "max_episode_steps": 40}], ids=str)
def test_one_after_another_they_are_the_native_ones(
    make_batch: MakeBatch, tiny_game: Path, tiny_cache: CacheDir, options: dict[str, Any]
) -> None:
    """The second of four seeds is above 2^63."""
    native = make_batch(4, frame_stack=1, **options)
    others = as_others(native, tiny_game, tiny_cache, "sync")
    rng, num_ended = np.random.default_rng(0), 0
    canvas = np.zeros((4, 84, 84), np.uint8)
    for step in range(200):
        for name in _ARRAYS:
            assert (getattr(native, name) == getattr(others, name)).all(), (step, name)
        actions = rng.integers(0, len(ACTIONS), 4)
        native.step(actions)
        others.step(actions, canvas)
        others.observations[:, 0] = canvas
        assert others.rewards == pytest.approx(native.rewards, abs=1e-6)
        ended = native.terminated | native.truncated
        num_ended += int(ended.sum())
        assert (native.final_episodes[ended] == others.final_episodes[ended]).all(), step
        assert (native.final_observations[ended] == others.final_observations[ended]).all(), step
    assert num_ended > 10
    others.close()


def test_what_was_restored_is_cut_short_and_begins_anew(
    make_batch: MakeBatch, tiny_game: Path, tiny_cache: CacheDir
) -> None:
    native = make_batch(2, frame_stack=1)
    before = as_others(native, tiny_game, tiny_cache, "sync")
    beginning = before.observations.copy()
    for _ in range(5):
        before.step(np.array([RIGHT, RIGHT]))
    after = as_others(native, tiny_game, tiny_cache, "sync")
    after.restore(before.state())
    after.step(np.array([RIGHT, RIGHT]))
    assert after.truncated.all()
    assert not after.terminated.any()
    assert (after.final_observations == before.observations).all()
    assert after.final_episodes["end_reason"].tolist() == [EndReason.JAMMED] * 2
    assert after.final_episodes["num_steps"].tolist() == [5, 5]
    assert (after.observations == beginning).all()
    assert after.episodes["number"].tolist() == [1, 1]
    after.step(np.array([NOOP, NOOP]))
    assert not after.truncated.any()
    before.close()
    after.close()


def test_an_episode_whose_process_is_lost_is_cut_short(
    make_batch: MakeBatch, tiny_game: Path, tiny_cache: CacheDir
) -> None:
    others = as_others(make_batch(2, frame_stack=1), tiny_game, tiny_cache, "async")
    others.step(np.array([RIGHT, RIGHT]))
    seen = others.observations.copy()
    assert isinstance(others.envs, ProcessVectorEnv)
    os.kill(others.envs.process_ids[1], signal.SIGKILL)
    others.step(np.array([RIGHT, RIGHT]))
    assert others.truncated.tolist() == [False, True]
    assert others.final_episodes[1]["end_reason"] == EndReason.JAMMED
    assert others.final_episodes[1]["num_steps"] == 1
    assert (others.final_observations[1] == seen[1]).all()
    assert others.episodes["num_steps"].tolist() == [2, 0]
    others.close()
