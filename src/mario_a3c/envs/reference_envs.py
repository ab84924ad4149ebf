"""How others play this game, to measure beside ours: gym-super-mario-bros and stable-retro, with the usual wrappers."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, VectorEnv
from gymnasium.wrappers import FrameStackObservation, GrayscaleObservation, ResizeObservation

from mario_a3c.envs.actions import BUTTONS, SIMPLE, parse_action
from mario_a3c.errors import SetupError
from mario_a3c.native.reference_emulators import StableRetro

Env = gymnasium.Env[Any, Any]
_FRAME_SKIP, _FRAME_STACK = 4, 4


def make_gym_super_mario_bros() -> Env:
    """gym-super-mario-bros 7.4.0: JoypadSpace, skip 4, grey, 84 x 84, stack 4. None of its files is touched."""
    env_class = _load_gym_super_mario_bros()
    return _with_usual_wrappers(_NewApi(env_class(target=(1, 1)), [parse_action(name) for name in SIMPLE]))


def make_stable_retro(rom_path: Path) -> Env:
    """FCEUmm through stable-retro's emulator (its integration refuses this dump, so its rewards are left out: a little
    faster than what its users get). One per process."""
    return _with_usual_wrappers(_RetroEnv(rom_path))


def make_async(make: Callable[[], Env], num_envs: int) -> "VectorEnv[Any, Any, Any]":
    """Gymnasium's own vector environment of processes."""
    return AsyncVectorEnv([make] * num_envs)


def installed_reference_envs() -> list[str]:
    """Which of the two can be measured here: their packages, and OpenCV for the wrappers."""
    if importlib.util.find_spec("cv2") is None:
        return []
    packages = {"gym-super-mario-bros": ("gym_super_mario_bros", "nes_py"), "stable-retro": ("stable_retro",)}
    return [name for name, needs in packages.items() if all(map(importlib.util.find_spec, needs))]


def _with_usual_wrappers(env: Env) -> Env:
    grey = GrayscaleObservation(_SkipFrames(env))
    return FrameStackObservation(ResizeObservation(grey, (84, 84)), _FRAME_STACK)


class _SkipFrames(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total = 0.0
        for _ in range(_FRAME_SKIP):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


class _NewApi(gymnasium.Env[Any, Any]):
    """Their environment, which speaks the old interface, with buttons for actions as JoypadSpace has them."""

    observation_space = spaces.Box(0, 255, (240, 256, 3), np.uint8)

    def __init__(self, env: Any, buttons: list[int]) -> None:
        self._env = env
        self._buttons = buttons
        self.action_space = spaces.Discrete(len(buttons))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._env.reset().copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, done, info = self._env.step(self._buttons[action])
        return observation.copy(), reward, done, False, info


class _RetroEnv(gymnasium.Env[Any, Any]):
    observation_space = spaces.Box(0, 255, (224, 240, 3), np.uint8)
    action_space = spaces.Discrete(len(SIMPLE))

    def __init__(self, rom_path: Path) -> None:
        self._emulator = StableRetro(rom_path)
        self._buttons = [parse_action(name) for name in SIMPLE]
        self.observation_space = spaces.Box(0, 255, self._emulator.screen().shape, np.uint8)
        self._start: bytes | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self._start is None:
            for frame in range(250):
                self._emulator.run_frame(BUTTONS["start"] if 60 <= frame < 64 else 0)
            self._start = self._emulator.save()
        self._emulator.load(self._start)
        return self._emulator.screen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._emulator.run_frame(self._buttons[action])
        return self._emulator.screen(), 0.0, False, False, {}

    def close(self) -> None:
        self._emulator.close()


class _IntegerRam(np.ndarray[Any, np.dtype[np.uint8]]):
    """Their sums overflow with NumPy 2, whose scalars stay one byte wide."""

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return int(value) if isinstance(value, np.generic) else value


def _load_gym_super_mario_bros() -> Any:
    """Their class, with Gymnasium in the place of gym, and with memory that NumPy 2 can add up."""
    if importlib.util.find_spec("gym_super_mario_bros") is None or importlib.util.find_spec("nes_py") is None:
        raise SetupError(
            "gym-super-mario-bros is not installed; "
            "`pip install --no-deps gym-super-mario-bros==7.4.0 nes-py==8.2.1` installs it"
        )
    modules = {"gym": gymnasium, "gym.spaces": gymnasium.spaces}
    before = {name: sys.modules.get(name) for name in modules}
    register = gymnasium.register
    sys.modules.update(modules)
    gymnasium.register = lambda *_, **__: None  # their ids are not ours to register
    try:
        smb_env: Any = importlib.import_module("gym_super_mario_bros.smb_env")
        nes_env: Any = importlib.import_module("nes_py.nes_env")
        rom: Any = importlib.import_module("nes_py._rom")
    finally:
        gymnasium.register = register
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    if not hasattr(nes_env.NESEnv, "_mario_a3c_buffer"):
        buffer = nes_env.NESEnv._ram_buffer
        nes_env.NESEnv._mario_a3c_buffer = buffer
        nes_env.NESEnv._ram_buffer = lambda self: _as_integers(buffer(self))
        rom.ROM.header = property(lambda self: self.raw_data[:16].astype(int))
    return smb_env.SuperMarioBrosEnv


def _as_integers(ram: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    return ram.view(_IntegerRam)
