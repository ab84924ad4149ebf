"""Consoles of others behind one small protocol, and the environment that plays on any of them."""

import importlib
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from mario_a3c import native
from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.actions import BUTTONS, action_buttons
from mario_a3c.envs.config import Backend, MarioEnvConfig
from mario_a3c.envs.counter_rng import Draw, Purpose
from mario_a3c.envs.episode import Episode
from mario_a3c.envs.gym_env import Observation, observation_space, scaled, stage_option
from mario_a3c.envs.infos import single_info
from mario_a3c.envs.observation import ram_as_rows
from mario_a3c.envs.picture import draw_buttons, shrink
from mario_a3c.envs.stages import stages_to_play
from mario_a3c.envs.window import Window
from mario_a3c.errors import ConfigError, SetupError
from mario_a3c.native.bindings import EndReason, GameRecord
from mario_a3c.native.config import Engine
from mario_a3c.native.game_record import GAME_DTYPE, read_game
from mario_a3c.native.reference_emulators import NesPy
from mario_a3c.native.rom import Rom
from mario_a3c.native.start_states import Stage, stages_of, start_states

LOG = logging.getLogger("mario.env")

_MAX_IDLE_FRAMES = 2000


class Console(Protocol):
    """What an environment needs of a console. Buttons are bits as in `mario_a3c.native.Console`."""

    def begin(self, stage: Stage) -> None:
        """Puts the game to the first frame of a stage in which the player has control."""
        ...

    def run_frame(self, buttons: int) -> None: ...

    def ram(self) -> npt.NDArray[np.uint8]:
        """The 2,048 bytes of work RAM."""
        ...

    def screen(self) -> npt.NDArray[np.uint8]:
        """[240, 256, 3]"""
        ...


class BackendEnv(gymnasium.Env[Observation, np.int64]):
    """`MarioEnv` on a console that is not ours: the same spaces, rewards, ends and infos, one frame at a time."""

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 15}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, console: Console, rom: Rom, config: MarioEnvConfig, *, render_mode: str | None = None) -> None:
        augmentation = config.augmentation
        if augmentation.augment_shift or augmentation.augment_brightness or augmentation.augment_noise:
            raise ConfigError("--augment-* needs our own console: leave --backend out")
        if config.takes_maximum:
            raise ConfigError("--takes-maximum needs our own console: leave --backend out")
        self.config = config
        self.render_mode = render_mode
        self._console = console
        self._stages = stages_to_play(config, rom)
        self._last_level = len(stages_of(rom)) - 1
        self._buttons = action_buttons(config).tolist()
        self._frames: deque[npt.NDArray[np.uint8]] = deque(maxlen=config.frame_stack)
        self._window = Window("Super Mario Bros.") if render_mode == "human" else None
        self._seed: int | None = None
        self._number = 0
        self._last_action = 0
        self._episode: Episode | None = None
        self._is_running = False
        self.observation_space = observation_space(config)
        self.action_space = spaces.Discrete(len(self._buttons))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        if not options.keys() <= {"stage"}:
            raise ValueError(f"this backend knows the option 'stage' alone, got {sorted(options.keys())}")
        self._number += 1
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(1 << 62)) if seed is None else seed
            self._number = 0
        given = stage_option(options.get("stage"))
        start = -1 if given is not None else self._choose_start()
        self._console.begin(given or self._stages[start])
        num_idle = self._draw(0).below(Purpose.IDLE_FRAMES, self.config.noop_max + 1)
        for _ in range(num_idle):
            self._console.run_frame(0)
        game = self._game()
        self._episode = Episode(self.config, game, number=self._number, start=start, last_level=self._last_level)
        self._episode.record["num_frames"] = num_idle
        self._last_action = 0
        self._frames.extend([self._frame(held=0)] * self.config.frame_stack)
        self._is_running = True
        self._show()
        return self._observation(), self._info(game)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self._is_running or self._episode is None:
            raise gymnasium.error.ResetNeeded("the episode has ended, or not begun: call reset() before step()")
        if not self.action_space.contains(np.int64(action)):
            raise ValueError(f"an action is in [0, {len(self._buttons)}), got {action!r}")
        draw = self._draw(int(self._episode.record["num_steps"]))
        if not (self.config.sticky > 0 and draw.uniform(Purpose.STICKY) < self.config.sticky):
            self._last_action = int(action)
        game, end, num_frames, num_idle = self._play(self._episode, self._buttons[self._last_action])
        earned, end = self._episode.settle(game, end, num_frames=num_frames, num_idle=num_idle)
        self._frames.append(self._frame(held=0 if num_idle else self._buttons[self._last_action]))
        truncated = self._episode.is_cut_short(end)
        self._is_running = end is EndReason.NONE
        self._show()
        return self._observation(), earned, bool(end) and not truncated, truncated, self._info(game)

    def render(self) -> Any:
        return self._console.screen() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self._is_running = False
        if self._window is not None:
            self._window.close()

    def _play(self, episode: Episode, buttons: int) -> tuple[GameRecord, EndReason, int, int]:
        """Runs the frames of a step, and on to where the agent has control again."""
        looks_at_each = self.config.reward.reward == "classic"
        end, num_frames, num_idle = EndReason.NONE, 0, 0
        while num_frames < self.config.frame_skip and not (looks_at_each and end):
            self._console.run_frame(buttons)
            num_frames += 1
            if looks_at_each or num_frames == self.config.frame_skip:
                game = self._game()
                end = episode.look(game, is_played=True)
        while self.config.skip_idle and not end and not (game.has_control or game.is_paused):
            if num_idle == _MAX_IDLE_FRAMES:
                break
            self._console.run_frame(0)
            num_idle += 1
            game = self._game()
            end = episode.look(game, is_played=False)
        return game, end, num_frames + num_idle, num_idle

    def _choose_start(self) -> int:
        if not self.config.random_stage:
            return self._number % len(self._stages)
        return min(int(self._draw(0).uniform(Purpose.START) * len(self._stages)), len(self._stages) - 1)

    def _draw(self, step: int) -> Draw:
        assert self._seed is not None
        return Draw(self._seed, self._number, step)

    def _game(self) -> GameRecord:
        return read_game(self._console.ram())

    def _info(self, game: GameRecord) -> dict[str, Any]:
        assert self._episode is not None
        return single_info(np.frombuffer(bytes(game), GAME_DTYPE)[0], self._episode.record)

    def _frame(self, held: int) -> npt.NDArray[np.uint8]:
        parts = []
        if self.config.observe != "ram":
            parts.append(self._picture(held))
        if self.config.observe != "picture":
            parts.append(ram_as_rows(self._console.ram()))
        return np.concatenate(parts)

    def _picture(self, held: int) -> npt.NDArray[np.uint8]:
        picture = shrink(self._console.screen())
        if self.config.show_buttons:
            draw_buttons(picture, held)
        return picture

    def _observation(self) -> Observation:
        stacked = np.stack(self._frames)
        return scaled(stacked) if self.config.float_observations else stacked

    def _show(self) -> None:
        if self._window is not None:
            self._window.show(self._console.screen(), frames=self.config.frame_skip)


class OwnConsole:
    """Our console in the place of somebody else's: what the rules in Python are compared with and measured on."""

    def __init__(self, rom: Rom, cache: CacheDir, engine: Engine = "interpreter") -> None:
        self._console = native.Console(rom.path, engine, cache=cache, allow_unknown_rom=True)
        self._states = start_states(rom, cache)

    def begin(self, stage: Stage) -> None:
        self._console.load(self._states[stage])

    def run_frame(self, buttons: int) -> None:
        self._console.run_frame(buttons)

    def ram(self) -> npt.NDArray[np.uint8]:
        return self._console.ram

    def screen(self) -> npt.NDArray[np.uint8]:
        return self._console.screen()


class NesPyConsole:
    """nes-py's emulator, the one behind gym-super-mario-bros. Its library is called directly: its Python part needs gym
    and breaks on NumPy 2."""

    _BOOT_FRAMES, _PRESS_FRAMES, _MAX_FRAMES = 60, 2, 1500
    _START = 8

    def __init__(self, rom: Rom) -> None:
        self._emulator = NesPy(rom.path)
        self._stages = stages_of(rom)
        self._areas: dict[Stage, int] = {}
        self._saved: Stage | None = None

    def begin(self, stage: Stage) -> None:
        if self._saved != stage:
            self._lead_to(stage)
            self._emulator.save()
            self._saved = stage
        self._emulator.restore()

    def run_frame(self, buttons: int) -> None:
        self._emulator.run_frame(buttons)

    def ram(self) -> npt.NDArray[np.uint8]:
        return self._emulator.memory

    def screen(self) -> npt.NDArray[np.uint8]:
        return self._emulator.screen()

    def _lead_to(self, stage: Stage) -> None:
        """As `start_states` does it. A stage's area is known when the stages of its world before it were begun."""
        before = [each for each in self._stages if each.world == stage.world and each.number <= stage.number]
        area = 0
        for each in before:
            if each in self._areas and each != stage:
                area = self._areas[each]
                continue
            area = self._start_game(each, area)
            self._areas[each] = area

    def _start_game(self, stage: Stage, area: int) -> int:
        """Starts a game in a stage; returns the number of the area after its own."""
        emulator = self._emulator
        emulator.reset()
        for _ in range(self._BOOT_FRAMES):
            emulator.run_frame(0)
        emulator.memory[[0x075F, 0x075C, 0x0760]] = (stage.world - 1, stage.number - 1, area)
        for frame in range(self._MAX_FRAMES):
            emulator.run_frame(self._START if frame < self._PRESS_FRAMES else 0)
            game = read_game(emulator.memory)
            if game.has_control and frame > self._PRESS_FRAMES:
                return int(game.area_number)
        raise SetupError(f"start does not lead to stage {stage} in nes-py; is the ROM Super Mario Bros.?")


class FcEmulatorConsole:
    """The emulator of the package fc_emulator, which begins at 1-1 and nowhere else."""

    _BOOT_FRAMES, _PRESS_FRAMES, _MAX_FRAMES = 60, 6, 600

    def __init__(self, rom: Rom) -> None:
        try:
            emulator = importlib.import_module("fc_emulator.emulator")
            self._controller = importlib.import_module("fc_emulator.controller").ControllerState
        except ImportError as error:
            raise SetupError(
                f"the package fc_emulator cannot be imported ({error}), and no registry has it; "
                "put it on PYTHONPATH, or leave --backend out"
            ) from error
        self._emulator = emulator.NESEmulator(str(rom.path))

    def begin(self, stage: Stage) -> None:
        if stage != Stage(1, 1):
            _report_stage(stage)
        self._emulator.reset()
        for frame in range(self._MAX_FRAMES):
            is_pressed = self._BOOT_FRAMES <= frame < self._BOOT_FRAMES + self._PRESS_FRAMES
            self.run_frame(NesPyConsole._START if is_pressed else 0)
            if frame > self._BOOT_FRAMES + self._PRESS_FRAMES and read_game(self.ram()).has_control:
                return
        raise SetupError("start does not begin a game in fc_emulator; is the ROM Super Mario Bros.?")

    def run_frame(self, buttons: int) -> None:
        held = {name.upper(): bool(buttons & bit) for name, bit in BUTTONS.items()}
        self._emulator.step(self._controller(**held))

    def ram(self) -> npt.NDArray[np.uint8]:
        return np.array(self._emulator.get_ram(), np.uint8)[:2048]

    def screen(self) -> npt.NDArray[np.uint8]:
        return np.array(self._emulator.get_screen(), np.uint8)


_reported: set[Stage] = set()


def _report_stage(stage: Stage) -> None:
    """The two variables that the documents name are read here alone."""
    complaint = f"the backend fc-emulator begins at 1-1; stage {stage} was asked for"
    if os.environ.get("MARIO_FC_STRICT_STAGE") == "1":
        raise ConfigError(f"{complaint}; unset MARIO_FC_STRICT_STAGE to play 1-1 instead")
    if os.environ.get("MARIO_SUPPRESS_FC_STAGE_WARN") != "1" and stage not in _reported:
        _reported.add(stage)
        LOG.warning("[env] %s; 1-1 is played instead (MARIO_FC_STRICT_STAGE=1 makes this an error)", complaint)


_CONSOLES: dict[Backend, Callable[[Rom], Console]] = {"nes-py": NesPyConsole, "fc-emulator": FcEmulatorConsole}


def create_backend_env(
    backend: Backend, rom: Rom, config: MarioEnvConfig, *, render_mode: str | None = None
) -> BackendEnv:
    return BackendEnv(_CONSOLES[backend](rom), rom, config, render_mode=render_mode)
