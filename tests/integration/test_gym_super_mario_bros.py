"""Beside gym-super-mario-bros 7.4.0: on the same memory, every field it has too says the same.

Installed by `.ci/run` (`pip install --no-deps gym-super-mario-bros==7.4.0 nes-py==8.2.1`, and gymnasium); without it
these tests are skipped.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import MarioEnv, MarioEnvConfig, RewardConfig
from mario_a3c.native import Console
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.game_record import read_game
from tests.support.play import RandomPlay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STATUS_NAMES = ("small", "tall", "fireball")
# Theirs, by the name of our field.
PROPERTIES = {
    "score": "_score",
    "x": "_x_position",
    "y": "_y_position",
    "clock": "_time",
    "coins": "_coins",
    "world": "_world",
    "stage": "_stage",
    "level": "_level",
    "area_number": "_area",
    "x_on_screen": "_left_x_position",
    "y_screen": "_y_viewport",
    "lives": "_life",
    "player_state": "_player_state",
    "is_busy": "_is_busy",
    "is_dying": "_is_dying",
    "is_dead": "_is_dead",
    "is_game_over": "_is_game_over",
    "is_stage_over": "_is_stage_over",
    "has_flag": "_flag_get",
    "has_axe": "_is_world_over",
}
# What its info calls them.
INFO = {
    "score": "score",
    "x": "x_pos",
    "y": "y_pos",
    "clock": "time",
    "coins": "coins",
    "world": "world",
    "stage": "stage",
    "lives": "life",
    "has_flag": "flag_get",
}
DIGITS = [*range(0x07DE, 0x07E4), 0x07ED, 0x07EE, *range(0x07F8, 0x07FB)]
# Random bytes seldom mean anything at these addresses, so they are often one of these.
MEANINGS: dict[int, Sequence[int]] = {
    0x000E: range(14),
    0x001D: range(4),
    0x00B5: range(4),
    0x0756: range(4),
    0x075A: (0, 1, 2, 255),
    0x0770: range(4),
    **dict.fromkeys(range(0x16, 0x1B), (0x2D, 0x31, 0x2F, 0x06)),
}


class IntegerRam(np.ndarray[Any, np.dtype[np.uint8]]):
    """Their sums overflow with NumPy 2, whose scalars stay one byte wide."""

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return int(value) if isinstance(value, np.generic) else value


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    """Their environment without an emulator: only what it says about a memory is asked."""
    gymnasium = pytest.importorskip("gymnasium")
    with pytest.MonkeyPatch.context() as patch:
        for name, module in (("gym", gymnasium), ("gym.spaces", gymnasium.spaces)):
            patch.setitem(sys.modules, name, module)
        patch.setattr(gymnasium, "register", lambda *_, **__: None, raising=False)
        pytest.importorskip("gym_super_mario_bros")
        smb_env: Any = importlib.import_module("gym_super_mario_bros.smb_env")
        # NumPy 2 refuses the negative number that NumPy 1 wrapped, and they meant it to wrap.
        patch.setattr(smb_env, "np", SimpleNamespace(uint8=lambda value: value % 256))
        yield object.__new__(smb_env.SuperMarioBrosEnv)


def assert_equal(theirs: Any, ram: npt.NDArray[np.uint8], note: object) -> None:
    theirs.ram = ram.view(IntegerRam)
    ours = read_game(ram)
    info = theirs._get_info()
    for field, name in PROPERTIES.items():
        assert getattr(ours, field) == getattr(theirs, name), f"{note}: {field}"
    for field, name in INFO.items():
        assert getattr(ours, field) == info[name], f"{note}: {name}"
    assert STATUS_NAMES[ours.status] == info["status"] == theirs._player_status, note


def test_every_field_is_compared(theirs: Any) -> None:
    theirs.ram = np.zeros(2048, np.uint8).view(IntegerRam)
    assert {*INFO.values(), "status"} == theirs._get_info().keys()
    asked = {name for name, value in vars(type(theirs)).items() if isinstance(value, property)}
    rewards = {name for name in asked if name.endswith(("_reward", "_penalty"))}
    # _y_pixel is in _y_position; the last is about the environment.
    assert asked - rewards == {*PROPERTIES.values(), "_player_status", "_y_pixel", "is_single_stage_env"}


def test_random_memories_mean_the_same(theirs: Any) -> None:
    rng = np.random.default_rng(0)
    seen: dict[str, set[int]] = {field: set() for field in PROPERTIES}
    for number in range(20_000):
        ram = rng.integers(0, 256, 2048, dtype=np.uint8)
        ram[DIGITS] = rng.integers(0, 10, len(DIGITS))
        for address, values in MEANINGS.items():
            if rng.random() < 0.8:
                ram[address] = rng.choice(values)
        assert_equal(theirs, ram, f"memory {number}")
        for field, met in seen.items():
            met.add(int(getattr(theirs, PROPERTIES[field])))
    assert all(len(met) >= 2 for met in seen.values()), "a claim that never held was not compared"


@pytest.mark.parametrize(("world", "stage"), [(0, 0), (0, 3), (1, 2), (3, 0), (7, 1)])
def test_memories_of_real_play_mean_the_same(theirs: Any, game_rom: Path, world: int, stage: int) -> None:
    console, play = Console(game_rom), RandomPlay(seed=world * 4 + stage)
    console.run_frame(0, 60)
    for frame in range(6_000):
        if console.ram[0x0770] == 0:
            console.ram[[0x075F, 0x075C, 0x0760]] = (world, stage, stage)
        console.run_frame(play.next_buttons(console.ram))
        assert (console.ram[DIGITS] < 10).all()
        assert_equal(theirs, console.ram, f"frame {frame}")


@pytest.mark.parametrize("stage", ["1-1", "1-4", "2-2", "4-1", "8-2"])
def test_environments_give_the_same_infos_rewards_and_ends(
    theirs: Any, game_rom: Path, cache: CacheDir, stage: str
) -> None:
    """Frame by frame on the memory of our environment, with the classic reward. Their step clips rewards, too."""
    config = MarioEnvConfig(
        frame_skip=1,
        action_set="complex",
        reward=RewardConfig(reward="classic"),
        skip_idle=False,
        stall_steps=0,
        max_episode_steps=0,
    )
    env = MarioEnv(config, rom=RomConfig(rom=game_rom), engine=EngineConfig(engine="interpreter"), cache=cache)
    theirs._target_world, theirs._target_stage, theirs._target_area = 1, 1, 1
    assert theirs.is_single_stage_env
    rng = np.random.default_rng(0)
    num_ends = 0
    needs_reset = True
    action = 0
    for frame in range(4_000):
        if needs_reset:
            _, info = env.reset(seed=frame, options={"stage": stage})
            theirs.ram = env.ram.view(IntegerRam)
            theirs._time_last, theirs._x_position_last = theirs._time, theirs._x_position
        if frame % 12 == 0:
            action = int(rng.choice([3, 3, 4, 4, 1, 6]))
        _, reward, needs_reset, _, info = env.step(action)
        theirs.ram = env.ram.view(IntegerRam)
        assert reward == min(15, max(-15, theirs._get_reward())), frame
        assert needs_reset == theirs._get_done(), frame
        expected = theirs._get_info()
        assert {name: info[name] for name in expected} == expected, frame
        num_ends += needs_reset
    assert num_ends >= 3
