"""The wrappers that the documents name do what the native step does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import MarioEnv, MarioEnvConfig, RewardConfig
from mario_a3c.envs.mario import FrameSkip, FusedPreprocessWrapper, MarioRewardWrapper, ProgressInfoWrapper
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support.tiny_batches import ACTIONS, DIE, NOOP, RIGHT, SCORE

MakeEnv = Callable[..., MarioEnv]


@pytest.fixture
def make_env(tiny_game: Path, tiny_cache: CacheDir) -> MakeEnv:
    def make(*, screen: bool = False, **options: Any) -> MarioEnv:
        config = MarioEnvConfig(action_set="custom", actions=ACTIONS, skip_idle=False, stall_steps=0, **options)
        return MarioEnv(
            config, rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
            engine=EngineConfig(engine="interpreter"), cache=tiny_cache, screen=screen,
        )  # fmt: skip

    return make


@pytest.mark.parametrize("options", [{}, {"takes_maximum": True}, {"float_observations": True}], ids=str)
def test_the_fused_wrapper_shows_what_the_native_step_shows(make_env: MakeEnv, options: dict[str, bool]) -> None:
    native = make_env(frame_skip=3, frame_stack=3, **options)
    wrapped = FusedPreprocessWrapper(make_env(screen=True, frame_skip=1), frame_skip=3, frame_stack=3, **options)
    assert wrapped.observation_space == native.observation_space
    expected, _ = native.reset(seed=0)
    observation, _ = wrapped.reset(seed=0)
    rng = np.random.default_rng(0)
    has_ended = False
    while not has_ended:
        assert observation.dtype == expected.dtype
        assert (observation == expected).all()
        action = rng.integers(0, len(ACTIONS))
        expected, _, terminated, truncated, _ = native.step(action)
        observation, _, *ends, _ = wrapped.step(action)
        assert ends == [terminated, truncated]
        has_ended = terminated or truncated


def test_skipped_frames_add_up_and_end_with_the_episode() -> None:
    class Frames(gymnasium.Env[Any, Any]):
        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            self.number = 0
            return np.zeros((1, 1, 3), np.uint8), {}

        def step(self, action: Any) -> Any:
            self.number += 1
            frame = np.full((1, 1, 3), [0, 9, 3, 5, 1, 0, 0][self.number], np.uint8)
            return frame, float(self.number), self.number == 6, False, {}

    env = FrameSkip(Frames(), 4, takes_maximum=True)
    env.reset()
    frame, reward, terminated, *_ = env.step(0)
    assert (int(frame[0, 0, 0]), reward, terminated) == (5, 1 + 2 + 3 + 4, False)
    _, reward, terminated, *_ = env.step(0)
    assert (reward, terminated) == (5 + 6, True)


def test_the_reward_wrapper_pays_as_the_native_step(make_env: MakeEnv) -> None:
    native = make_env(reward=RewardConfig(score_reward=0.01, flag_bonus=0.7, failure_penalty=0.3))
    plain = make_env(reward=RewardConfig(score_reward=0, flag_bonus=0, failure_penalty=0))
    wrapped = MarioRewardWrapper(plain, score_reward=0.01, flag_bonus=0.7, failure_penalty=0.3, scale=10.0)
    for env in (native, wrapped):
        env.reset(seed=0)
    paid = []
    for action in (RIGHT, SCORE, NOOP, SCORE, DIE, *[NOOP] * 200):
        _, expected, terminated, *_ = native.step(action)
        _, reward, *_ = wrapped.step(action)
        assert reward == pytest.approx(10 * expected, abs=1e-4)
        paid.append(expected)
        if terminated:
            break
    assert terminated
    assert max(paid) > 0.1, "points count"
    assert paid[-1] < -0.25, "the penalty does, at the end"
    assert min(paid[:-1]) > -0.25, "and nowhere else"


@pytest.mark.parametrize(
    ("has_flag", "terminated", "reward"), [(True, True, 1.5), (False, True, 0.5), (False, False, 1)]
)
def test_bonus_and_penalty_are_for_episodes_that_ended_by_themselves(
    has_flag: bool, terminated: bool, reward: float
) -> None:
    class One(gymnasium.Env[Any, Any]):
        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return 0, {}

        def step(self, action: Any) -> Any:
            return 0, 1.0, terminated, not terminated, {"score": 0, "flag_get": has_flag, "x_pos": 7}

    env = MarioRewardWrapper(One(), flag_bonus=0.5, failure_penalty=0.5)
    env.reset()
    assert env.step(0)[1] == reward


def test_progress_is_the_furthest_of_the_episode(make_env: MakeEnv) -> None:
    env = ProgressInfoWrapper(make_env())
    _, info = env.reset(seed=0)
    start = info["max_x_pos"]
    for _ in range(5):
        *_, info = env.step(RIGHT)
    furthest = info["max_x_pos"]
    assert furthest == info["x_pos"] > start
    for _ in range(3):
        *_, info = env.step(ACTIONS.index("left"))
    assert info["max_x_pos"] == furthest > info["x_pos"]
    assert (info["terminated"], info["truncated"]) == (False, False)
    assert env.reset()[1]["max_x_pos"] == start
