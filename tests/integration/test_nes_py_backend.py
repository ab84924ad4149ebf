"""Environments on nes-py's emulator, where it is installed: the same stages, infos and rewards as on our console."""

import importlib.util
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import MarioEnvConfig, MarioVectorEnvConfig, RewardConfig, create_eval_env, create_vector_env
from mario_a3c.native.config import EngineConfig, RomConfig

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(importlib.util.find_spec("nes_py") is None, reason="nes-py is not installed"),
]

RUN = 3


def make(game_rom: Path, cache: CacheDir, backend: Any, **options: Any) -> "gymnasium.Env[Any, Any]":
    engine = EngineConfig(engine="interpreter")
    return create_eval_env(
        MarioEnvConfig(**options), backend=backend, rom=RomConfig(rom=game_rom), engine=engine, cache=cache
    )


@pytest.mark.parametrize("stage", ["1-1", "1-2", "4-2", "6-1"])
@pytest.mark.parametrize("reward", ["progress", "classic"])
def test_both_consoles_play_the_same_game(game_rom: Path, cache: CacheDir, stage: str, reward: Any) -> None:
    """Their frames end elsewhere in the picture, so that buttons act a frame later there: a few pixels."""
    config = {"action_set": "complex", "reward": RewardConfig(reward=reward)}
    ours, theirs = (make(game_rom, cache, backend, **config) for backend in ("native", "nes-py"))
    _, one = ours.reset(seed=2, options={"stage": stage})
    _, other = theirs.reset(seed=2, options={"stage": stage})
    assert one == other
    for step in range(16):
        one_step, other_step = ours.step(RUN), theirs.step(RUN)
        one, other = one_step[4], other_step[4]
        assert abs(one["x_pos"] - other["x_pos"]) <= 4, step
        assert one_step[2:4] == other_step[2:4] == (False, False), step
        for name in ("area", "coins", "end_reason", "flag_get", "life", "score", "stage", "status", "world"):
            assert one[name] == other[name], (step, name)
    assert one["x_pos"] > 80
    assert abs(one["return"] - other["return"]) <= (0.05 if reward == "progress" else 5)


def test_pictures_show_the_same(game_rom: Path, cache: CacheDir) -> None:
    """Their colours are others; what is bright here is bright there."""
    ours, theirs = (make(game_rom, cache, backend) for backend in ("native", "nes-py"))
    (one, _), (other, _) = ours.reset(seed=0), theirs.reset(seed=0)
    for _ in range(10):
        one, *_ = ours.step(RUN)
        other, *_ = theirs.step(RUN)
        assert np.corrcoef(one[-1].ravel(), other[-1].ravel())[0, 1] > 0.7


def test_it_plays_in_processes(game_rom: Path, cache: CacheDir) -> None:
    config = MarioVectorEnvConfig(num_envs=2, backend="nes-py", vectorization="async")
    env = create_vector_env(config, rom=RomConfig(rom=game_rom), cache=cache)
    try:
        observations, infos = env.reset(seed=0)
        assert observations.shape == (2, 4, 84, 84)
        for _ in range(5):
            observations, rewards, _, _, infos = env.step(np.full(2, RUN))
        assert (rewards > 0).all()
        assert (infos["x_pos"] > 40).all()
    finally:
        env.close()
