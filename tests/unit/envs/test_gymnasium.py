"""Gymnasium's interface over the batch: its own checker, ours for vector environments, ids, options, errors."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import mario_a3c.envs.registration as registration
from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import (
    MarioEnv,
    MarioEnvConfig,
    MarioVectorEnv,
    MarioVectorEnvConfig,
    RewardConfig,
    check_vector_env,
    create_eval_env,
    create_vector_env,
)
from mario_a3c.envs.environment_ids import config_of_id, known_ids
from mario_a3c.envs.vector_env_checker import VectorEnvError
from mario_a3c.errors import ConfigError
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support import tiny_game
from tests.support.tiny_batches import ACTIONS, DIE, LEFT, NOOP, PIPE, RIGHT

Options = dict[str, Any]


@pytest.fixture
def tiny(tiny_game: Path, tiny_cache: CacheDir) -> Options:
    """What environments on the home-made game are made with."""
    return {
        "rom": RomConfig(rom=tiny_game, allow_unknown_rom=True),
        "engine": EngineConfig(engine="interpreter"),
        "cache": tiny_cache,
    }


@pytest.fixture
def config() -> MarioEnvConfig:
    return MarioEnvConfig(action_set="custom", actions=ACTIONS, max_episode_steps=30)


@pytest.fixture
def make_vector(tiny: Options, config: MarioEnvConfig) -> Callable[..., MarioVectorEnv]:
    def make(num_envs: int = 3, **options: Any) -> MarioVectorEnv:
        return MarioVectorEnv(MarioVectorEnvConfig(num_envs=num_envs, num_threads=2, env=config), **tiny, **options)

    return make


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("is_float", [False, True])
def test_gymnasium_s_own_checker_passes(tiny: Options, screen: bool, is_float: bool) -> None:
    config = MarioEnvConfig(action_set="custom", actions=ACTIONS, float_observations=is_float, noop_max=5, sticky=0.1)
    env = MarioEnv(config, render_mode="rgb_array", screen=screen, **tiny)
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        # It would like to make a second one by its id, which these have not.
        warnings.filterwarnings("ignore", message=".*spec.*")
        check_env(env, skip_render_check=True)
    env.close()


def test_the_checker_for_vector_environments_passes(make_vector: Callable[..., MarioVectorEnv]) -> None:
    check_vector_env(make_vector, num_steps=60)
    check_vector_env(lambda: make_vector(num_envs=1), num_steps=60)
    check_vector_env(lambda: make_vector(copy=False), num_steps=60, copies=False)


class Broken(MarioVectorEnv):
    """Does one thing wrong."""

    fault = ""

    def reset(self, **given: Any) -> Any:
        observations, infos = super().reset(**given)
        if self.fault == "mask":
            del infos["_x_pos"]
        if self.fault == "pops":
            (given.get("options") or {}).pop("reset_mask", None)
        return observations, infos

    def step(self, actions: Any) -> Any:
        observations, rewards, terminated, truncated, infos = super().step(actions)
        if self.fault == "dtype":
            rewards = rewards.astype(int)
        if self.fault == "final":
            infos.pop("final_obs", None)
        if self.fault == "both":
            truncated = terminated | truncated
        if self.fault == "random":
            rewards = rewards + np.random.random(len(rewards)).astype(np.float32)
        return observations, rewards, terminated, truncated, infos


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("mask", "lacks its mask"),
        ("pops", "out of the caller's options"),
        ("dtype", "rewards must be floats"),
        ("final", "lacks 'final_obs'"),
        ("both", "not both"),
        ("random", "different rewards"),
    ],
)
def test_the_checker_notices_faults(tiny: Options, config: MarioEnvConfig, fault: str, complaint: str) -> None:
    def make() -> Broken:
        made = Broken(MarioVectorEnvConfig(num_envs=2, num_threads=1, env=config), **tiny)
        made.fault = fault
        return made

    with pytest.raises(VectorEnvError, match=complaint):
        check_vector_env(make, num_steps=60)


def test_the_checker_notices_arrays_that_are_used_again(make_vector: Callable[..., MarioVectorEnv]) -> None:
    with pytest.raises(VectorEnvError, match=r"overwrote|returned the array"):
        check_vector_env(lambda: make_vector(copy=False), num_steps=60)


def test_the_vector_environment_equals_gymnasium_s_over_single_ones(
    tiny: Options, config: MarioEnvConfig, make_vector: Callable[..., MarioVectorEnv]
) -> None:
    native = make_vector()
    sync = SyncVectorEnv([lambda: MarioEnv(config, **tiny)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    for one, other in zip(native.reset(seed=4), sync.reset(seed=4), strict=True):
        assert_same(one, other)
    native.action_space.seed(1)
    num_ended = 0
    for _ in range(100):
        actions = native.action_space.sample()
        ours, theirs = native.step(actions), sync.step(actions)
        num_ended += int((ours[2] | ours[3]).sum())
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    assert num_ended > 10
    sync.close()


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            mask = one.get(f"_{name}")
            if isinstance(one[name], dict) or mask is None:
                assert_same(one[name], other[name])
            else:
                assert_same(one[name][mask].tolist(), other[name][mask].tolist())
    elif isinstance(one, list):
        assert len(one) == len(other)
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_last_step_of_an_episode_shows_its_end(tiny: Options, config: MarioEnvConfig) -> None:
    env = MarioEnv(config, render_mode="rgb_array", **tiny)
    env.reset(seed=0)
    env.step(PIPE)
    env.step(PIPE)
    info: dict[str, Any] = {}
    terminated = False
    while not terminated:
        _, _, terminated, truncated, info = env.step(RIGHT)
        assert not truncated
    assert info["flag_get"]
    assert info["end_reason"] == "flag"
    assert info["x_pos"] >= tiny_game.FLAG_X
    assert env.render().shape == (240, 256, 3)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(RIGHT)
    _, info = env.reset()
    assert (info["x_pos"], info["end_reason"], info["flag_get"]) == (tiny_game.START_X, "", False)


def test_infos_have_the_names_that_people_know(tiny: Options, config: MarioEnvConfig) -> None:
    env = MarioEnv(config, **tiny)
    _, info = env.reset(options={"stage": "4-2"})
    known = {"coins", "flag_get", "life", "score", "stage", "status", "time", "world", "x_pos", "y_pos"}
    assert known | {"progress", "area", "end_reason", "steps", "frames", "power_ups", "return"} == info.keys()
    assert (info["world"], info["stage"], info["status"], info["life"], info["time"]) == (4, 2, "small", 2, 400)
    *_, info = env.step(DIE)
    assert info["end_reason"] == "death"


def test_states_are_a_feature(tiny: Options, config: MarioEnvConfig) -> None:
    env = MarioEnv(config, **tiny)
    env.reset(seed=1)
    env.step(RIGHT)
    middle, place = env.get_state(), env.console_state()
    one = [env.step(RIGHT)[:2] for _ in range(3)]
    env.set_state(middle)
    other = [env.step(RIGHT)[:2] for _ in range(3)]
    for (seen, reward), (seen_again, reward_again) in zip(one, other, strict=True):
        assert (seen == seen_again).all()
        assert reward == reward_again
    _, info = env.reset(options={"state": place})
    assert info["x_pos"] == tiny_game.START_X + 4 * tiny_game.WALK
    assert info["steps"] == 0
    assert env.ram[0x0086] == info["x_pos"]


def test_every_id_of_the_packages_is_known(tiny: Options) -> None:
    ids = set(known_ids())
    assert {"SuperMarioBros-v0", "SuperMarioBros-8-4-v3", "SuperMarioBrosRandomStages-v2"} <= ids
    assert {"SuperMarioBros2-v1", "SuperMarioBros2-4-4-v0"} <= ids
    for name in ids:
        assert f"mario_a3c/{name}" in gymnasium.registry
        assert config_of_id(name) == config_of_id(f"mario_a3c/{name}")
    assert config_of_id("SuperMarioBros-4-2-v1") == MarioEnvConfig(world=4, stage=2, graphics="downsample")
    assert config_of_id("SuperMarioBros-v0") == MarioEnvConfig(one_life=False, one_stage=False)
    assert config_of_id("SuperMarioBros2RandomStages-v0") == MarioEnvConfig(game="lost-levels", random_stage=True)
    for wrong in ("SuperMarioBros-9-1-v0", "SuperMarioBros-1-1-v4", "SuperMarioBros2-v2", "Tetris-v0"):
        with pytest.raises(ConfigError, match=r"environment|stage|alone"):
            config_of_id(wrong)


# v0 to v3 are variants of the graphics, as gym-super-mario-bros has them; Gymnasium takes them for versions.
@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_gymnasium_makes_them_by_id_with_options(tiny: Options) -> None:
    env = gymnasium.make("mario_a3c/SuperMarioBros-3-2-v0", reward="classic", flag_bonus=2.0, frame_stack=2, **tiny)
    made: Any = env.unwrapped
    assert made.config.reward == RewardConfig(reward="classic", flag_bonus=2.0)
    _, info = env.reset()
    assert (info["world"], info["stage"]) == (3, 2)
    assert env.observation_space.shape == (2, 84, 84)
    vector = gymnasium.make_vec("mario_a3c/SuperMarioBros-3-2-v0", num_envs=2, **tiny)
    assert isinstance(vector.unwrapped, MarioVectorEnv)
    assert vector.reset()[1]["stage"].tolist() == [2, 2]
    with pytest.raises(ConfigError, match="no option frame_skipp"):
        registration.make_env("SuperMarioBros-1-1-v0", frame_skipp=3)
    with pytest.raises(ConfigError, match="the stage is in the id"):
        registration.make_env("SuperMarioBros-1-1-v0", stage=3)


@pytest.mark.parametrize("vectorization", ["native", "sync"])
def test_factories_take_configs_and_ids(tiny: Options, vectorization: Any) -> None:
    config = MarioVectorEnvConfig(num_envs=2, vectorization=vectorization, env=MarioEnvConfig(world=2, stage=3))
    env = create_vector_env(config, **tiny)
    observations, infos = env.reset(seed=0)
    assert observations.shape == (2, 4, 84, 84)
    assert infos["stage"].tolist() == [3, 3]
    env.step(np.zeros(2, np.int64))
    env.close()
    single: Any = create_eval_env("SuperMarioBros-2-3-v0", **tiny)
    assert single.reset()[0].shape == (4, 84, 84)
    assert single.render().shape == (240, 256, 3)


def test_float_observations_are_the_bytes_divided(tiny: Options) -> None:
    plain = MarioVectorEnv(MarioVectorEnvConfig(num_envs=2), **tiny)
    floats = MarioVectorEnv(MarioVectorEnvConfig(num_envs=2, env=MarioEnvConfig(float_observations=True)), **tiny)
    plain.reset()
    floats.reset()
    for _ in range(6):
        one, other = (env.step(np.full(2, RIGHT))[0] for env in (plain, floats))
        assert other.dtype == np.float32
        assert other in floats.observation_space
        np.testing.assert_allclose(other, one / 255.0, rtol=1e-6)


def test_what_cannot_be_done_is_said(make_vector: Callable[..., MarioVectorEnv], tiny: Options) -> None:
    env = make_vector()
    with pytest.raises(ValueError, match="options are"):
        env.reset(options={"stag": "1-1"})
    with pytest.raises(ValueError, match="a stage is written like 1-1"):
        env.reset(options={"stage": "one"})
    with pytest.raises(ValueError, match="3 integers"):
        env.step(np.zeros(3))
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()
    with pytest.raises(ValueError, match="render_mode"):
        MarioEnv(render_mode="ansi", **tiny)


def test_a_masked_reset_through_options(make_vector: Callable[..., MarioVectorEnv]) -> None:
    env = make_vector()
    env.reset(seed=0)
    env.step(np.full(3, RIGHT))
    _, infos = env.reset(options={"reset_mask": np.array([True, False, True]), "stage": "8-1"})
    assert infos["world"].tolist() == [8, 1, 8]
    assert infos["x_pos"].tolist() == [40, 56, 40]
    env.step(np.array([LEFT, NOOP, RIGHT]))
