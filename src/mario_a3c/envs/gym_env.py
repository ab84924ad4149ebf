"""One environment as Gymnasium has it."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.actions import action_buttons
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.infos import single_info
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.observation import observation_shape
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.envs.window import Window
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage
from mario_a3c.native.view import SCREEN_HEIGHT, SCREEN_WIDTH

Observation = npt.NDArray[Any]
_OPTIONS = frozenset({"stage", "state"})


class MarioEnv(gymnasium.Env[Observation, np.int64]):
    """The game, one environment: uint8 [frame_stack, 84, 84], or with `screen` the whole picture, [240, 256, 3].

    `reset(options={"stage": "4-2"})` begins there, `options={"state": env.unwrapped.console_state()}` at a save-state.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 60}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        config: MarioEnvConfig | None = None,
        *,
        render_mode: str | None = None,
        screen: bool = False,
        rom: RomConfig | None = None,
        engine: EngineConfig | None = None,
        cache: CacheDir | None = None,
        progress_map: ProgressMap | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None, 'rgb_array' or 'human', got {render_mode!r}")
        self.config = config or MarioEnvConfig()
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": 60 // self.config.frame_skip or 1}
        self._shows_screen = screen
        batch_config = MarioVectorEnvConfig(num_envs=1, num_threads=1, env=self.config)
        self._batch = MarioBatch(
            batch_config, rom=rom, engine=engine, cache=cache, autoreset=False, progress_map=progress_map
        )
        self._window = Window("Super Mario Bros.") if render_mode == "human" else None
        self.observation_space = observation_space(self.config, screen=screen)
        self.action_space = spaces.Discrete(self._batch.num_actions)
        self._is_running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        if not options.keys() <= _OPTIONS:
            raise ValueError(f"options are {sorted(_OPTIONS)}, got {sorted(options.keys() - _OPTIONS)}")
        if seed is None and not hasattr(self, "_was_reset"):
            # As Gymnasium has it: without a seed, nobody knows what comes.
            seed = int(self.np_random.integers(1 << 62))
        self._was_reset = True
        self._batch.reset(seed=seed, stage=stage_option(options.get("stage")), state=options.get("state"))
        self._is_running = True
        self._show()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self._is_running:
            raise gymnasium.error.ResetNeeded("the episode has ended, or not begun: call reset() before step()")
        self._batch.step(np.asarray([action]))
        terminated, truncated = bool(self._batch.terminated[0]), bool(self._batch.truncated[0])
        self._is_running = not (terminated or truncated)
        self._show()
        return self._observation(), float(self._batch.rewards[0]), terminated, truncated, self._info()

    def render(self) -> Any:
        """The picture in colour, [240, 256, 3], where the mode is `rgb_array`; the window shows it by itself."""
        return self._batch.render(0) if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self._is_running = False
        self._batch.close()
        if self._window is not None:
            self._window.close()

    def console_state(self) -> bytes:
        """Where an episode can begin again: `reset(options={"state": ...})`."""
        return self._batch.console_state(0)

    def get_state(self) -> bytes:
        """The whole environment, in the middle of its episode."""
        return self._batch.get_state(0)

    def set_state(self, state: bytes) -> Observation:
        """Continues there; the observation of that moment."""
        self._batch.set_state(0, state)
        self._is_running = True
        return self._observation()

    @property
    def ram(self) -> npt.NDArray[np.uint8]:
        """The 2,048 bytes of the console's memory, to be read and written between steps."""
        return self._batch.ram(0)

    @property
    def batch(self) -> MarioBatch:
        """The batch of one behind this environment: starts, weights and the progress map are set there."""
        return self._batch

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """For `gymnasium.utils.play`: arrows, x jumps (A), z runs (B)."""
        keys = {1: "x", 2: "z", 16: "up", 32: "down", 64: "left", 128: "right"}
        return {
            tuple(key for bit, key in keys.items() if bits & bit): action
            for action, bits in enumerate(action_buttons(self.config).tolist())
        }

    def _observation(self) -> Observation:
        if self._shows_screen:
            return self._batch.render(0)
        stacked: Observation = self._batch.observations[0].copy()
        return scaled(stacked) if self.config.float_observations else stacked

    def _info(self) -> dict[str, Any]:
        return single_info(self._batch.games[0], self._batch.episodes[0])

    def _show(self) -> None:
        if self._window is not None:
            self._window.show(self._batch.render(0), frames=self.config.frame_skip)


def observation_space(config: MarioEnvConfig, *, screen: bool = False) -> spaces.Box:
    if screen:
        return spaces.Box(0, 255, (SCREEN_HEIGHT, SCREEN_WIDTH, 3), np.uint8)
    shape = observation_shape(config)
    return spaces.Box(0.0, 1.0, shape, np.float32) if config.float_observations else spaces.Box(0, 255, shape, np.uint8)


def scaled(observations: npt.NDArray[np.uint8]) -> Observation:
    """To 0..1, as `float_observations` asks."""
    return np.divide(observations, 255, dtype=np.float32)


def stage_option(stage: Any) -> Stage | None:
    """`"4-2"`, `(4, 2)` or a Stage."""
    if stage is None or isinstance(stage, Stage):
        return stage
    return Stage.parse(stage) if isinstance(stage, str) else Stage(*stage)
