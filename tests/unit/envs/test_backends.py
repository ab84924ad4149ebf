"""Environments on other consoles: the rules in Python equal the native ones, number by number."""

import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import (
    AugmentationConfig,
    MarioEnv,
    MarioEnvConfig,
    MarioVectorEnvConfig,
    RewardConfig,
    create_eval_env,
    create_vector_env,
)
from mario_a3c.envs.backends import BackendEnv, OwnConsole, create_backend_env
from mario_a3c.envs.counter_rng import philox
from mario_a3c.envs.picture import shrink
from mario_a3c.errors import ConfigError, SetupError
from mario_a3c.native import Console, View
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import open_rom
from mario_a3c.native.view import SCREEN_RGB
from tests.support.tiny_batches import ACTIONS, RIGHT


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noop_max": 30, "sticky": 0.25, "random_stage": True},
        {"one_life": False, "stage_span": 3, "reward": RewardConfig(score_reward=0.01, power_reward=0.5)},
        {"one_stage": False, "frame_skip": 3, "stall_steps": 9},
        {"stall_steps": 4, "stall_fails": True},
        {"show_buttons": True, "sticky": 0.25},
        {"observe": "both"},
        {"observe": "ram"},
        {"skip_idle": False, "max_episode_steps": 40},
        {"reward": RewardConfig(reward="classic"), "noop_max": 5},
    ],
    ids=str,
)
def test_the_rules_in_python_equal_the_native_ones(
    tiny_game: Path, tiny_cache: CacheDir, options: dict[str, Any]
) -> None:
    config = MarioEnvConfig(**{"action_set": "custom", "actions": ACTIONS, "frame_stack": 3, **options})
    rom = open_rom(tiny_game, allow_unknown=True)
    console = OwnConsole(rom, tiny_cache)
    slow = BackendEnv(console, rom, config)
    fast = MarioEnv(
        config,
        rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        cache=tiny_cache,
    )
    rng = np.random.default_rng(5)
    num_episodes = 0
    needs_reset = True
    one: Any
    other: Any
    for step in range(200):
        if needs_reset:
            one, other = (env.reset(seed=8 if step == 0 else None) for env in (fast, slow))
            num_episodes += 1
        else:
            action = int(RIGHT if rng.random() < 0.6 else rng.integers(len(ACTIONS)))
            power_up = rng.integers(3), rng.integers(2), 0x2E  # the home-made game has none
            for memory in (fast.ram, console.ram()):
                memory[[0x0756, 0x14, 0x1B]] = power_up
            one, other = fast.step(action), slow.step(action)
            assert one[1] == pytest.approx(other[1], abs=1e-6), step
            assert one[2:4] == other[2:4], step
        needs_reset = len(one) == 5 and bool(one[2] or one[3])
        assert (one[0] == other[0]).all(), step
        ours, theirs = one[-1], other[-1]
        assert {**ours, "return": 0} == {**theirs, "return": 0}, step
        assert ours["return"] == pytest.approx(theirs["return"], abs=1e-4)
    assert num_episodes > 3


def test_gymnasium_s_checker_passes_for_other_consoles(tiny_game: Path, tiny_cache: CacheDir) -> None:
    rom = open_rom(tiny_game, allow_unknown=True)
    config = MarioEnvConfig(float_observations=True, sticky=0.1)
    env = BackendEnv(OwnConsole(rom, tiny_cache), rom, config, render_mode="rgb_array")
    check_env(env, skip_render_check=True)


def test_philox_gives_the_known_answers() -> None:
    """From the authors' own library (Random123, kat_vectors)."""
    assert philox(0, (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    all_ones = 0xFFFFFFFF
    answer = (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox((1 << 64) - 1, (all_ones, all_ones, all_ones, all_ones)) == answer
    counter = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert philox(0x299F31D0A4093822, counter) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def test_the_slow_picture_equals_the_console_s(tiny_game: Path) -> None:
    console = Console(tiny_game, allow_unknown_rom=True)
    console.run_frame(0, 60)
    seen = set()
    for _ in range(40):
        console.run_frame(8 | 128, 3)
        picture = shrink(console.observe(SCREEN_RGB))
        assert (picture == console.observe(View())).all()
        seen.add(picture.tobytes())
    assert len(seen) > 5


def test_a_picture_is_averaged_by_area() -> None:
    rng = np.random.default_rng(0)
    screen = rng.integers(0, 256, (240, 256, 3)).astype(np.uint8)
    grey = (
        77 * screen[..., 0].astype(int) + 150 * screen[..., 1].astype(int) + 29 * screen[..., 2].astype(int) + 128
    ) // 256
    large = np.repeat(np.repeat(grey, 7, axis=0), 21, axis=1)  # 240 x 256 by least common multiples with 84
    expected = (large.reshape(84, 20, 84, 64).sum(axis=(1, 3)) + 640) // 1280
    assert (shrink(screen) == expected).all()


@pytest.fixture
def fc_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the interface of that package, which no registry has."""

    class ControllerState:
        def __init__(self, **held: bool) -> None:
            self.bits = sum(1 << bit for bit, name in enumerate(NAMES) if held[name])

    class NESEmulator:
        def __init__(self, rom_path: str) -> None:
            self._console = Console(rom_path, allow_unknown_rom=True)

        def reset(self) -> npt.NDArray[np.uint8]:
            self._console.power_on()
            return self._console.screen()

        def step(self, controller: ControllerState) -> tuple[Any, float, bool, dict[str, Any]]:
            self._console.run_frame(controller.bits)
            return self._console.screen(), 0.0, False, {}

        def get_ram(self) -> npt.NDArray[np.uint8]:
            return self._console.ram

        def get_screen(self) -> npt.NDArray[np.uint8]:
            return self._console.screen()

    package, emulator, controller = (ModuleType(f"fc_emulator{name}") for name in ("", ".emulator", ".controller"))
    emulator.NESEmulator = NESEmulator  # type: ignore[attr-defined]
    controller.ControllerState = ControllerState  # type: ignore[attr-defined]
    for module in (package, emulator, controller):
        monkeypatch.setitem(sys.modules, module.__name__, module)


NAMES = ("A", "B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT")


@pytest.mark.usefixtures("fc_emulator")
def test_fc_emulator_plays_1_1_and_says_so(
    tiny_game: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rom = open_rom(tiny_game, allow_unknown=True)
    env = create_backend_env("fc-emulator", rom, MarioEnvConfig())
    _, info = env.reset(seed=0)
    assert (info["world"], info["stage"], info["x_pos"]) == (1, 1, 40)
    *_, info = env.step(1)
    assert info["x_pos"] == 56
    elsewhere = create_backend_env("fc-emulator", rom, MarioEnvConfig(world=4, stage=2))
    with caplog.at_level(logging.WARNING):
        monkeypatch.setenv("MARIO_SUPPRESS_FC_STAGE_WARN", "1")
        elsewhere.reset()
        assert not caplog.records
        monkeypatch.delenv("MARIO_SUPPRESS_FC_STAGE_WARN")
        elsewhere.reset()
        assert "begins at 1-1; stage 4-2 was asked for" in caplog.text
    monkeypatch.setenv("MARIO_FC_STRICT_STAGE", "1")
    with pytest.raises(ConfigError, match="unset MARIO_FC_STRICT_STAGE"):
        elsewhere.reset()


def test_what_is_not_installed_is_named(tiny_game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rom = open_rom(tiny_game, allow_unknown=True)
    monkeypatch.setitem(sys.modules, "fc_emulator", None)
    with pytest.raises(SetupError, match="fc_emulator cannot be imported"):
        create_backend_env("fc-emulator", rom, MarioEnvConfig())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SetupError, match="pip install --no-deps nes-py"):
        create_backend_env("nes-py", rom, MarioEnvConfig())


@pytest.mark.usefixtures("fc_emulator")
def test_factories_take_backends_and_refuse_what_they_cannot(tiny_game: Path, tiny_cache: CacheDir) -> None:
    given: dict[str, Any] = {"rom": RomConfig(rom=tiny_game, allow_unknown_rom=True), "cache": tiny_cache}
    config = MarioVectorEnvConfig(num_envs=2, vectorization="sync", backend="fc-emulator")
    env = create_vector_env(config, **given)
    assert env.reset(seed=0)[0].shape == (2, 4, 84, 84)
    env.close()
    single = create_eval_env(MarioEnvConfig(), backend="fc-emulator", **given)
    with pytest.raises(gymnasium.error.ResetNeeded):
        single.step(0)
    single.reset()
    with pytest.raises(ValueError, match=r"in \[0, 7\)"):
        single.step(9)
    with pytest.raises(ConfigError, match="needs our own console"):
        create_eval_env(
            MarioEnvConfig(augmentation=AugmentationConfig(augment_noise=1)), backend="fc-emulator", **given
        )
    with pytest.raises(ConfigError, match="stacked frames alone"):
        create_eval_env(MarioEnvConfig(), backend="fc-emulator", screen=True, **given)
