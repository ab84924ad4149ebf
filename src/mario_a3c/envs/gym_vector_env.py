"""Many environments as Gymnasium has them: a thin layer over a batch."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.envs.gym_env import observation_space, scaled, stage_option
from mario_a3c.envs.infos import vector_infos
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.native.config import EngineConfig, RomConfig

Array = npt.NDArray[Any]
_OPTIONS = frozenset({"stage", "state", "reset_mask"})


class MarioVectorEnv(VectorEnv[Array, Array, Array]):
    """N environments stepped by threads in one call. An episode that ends is followed by the next in the same step:
    the last observation and info of the old one are in `infos["final_obs"]` and `infos["final_info"]`.

    `copy=False` returns the arrays that the next step overwrites. `batch` is what lies below: starts, weights, states,
    the progress map.
    """

    metadata = {  # noqa: RUF012 - Gymnasium declares it so
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": ["rgb_array"],
        "render_fps": 60,
    }

    def __init__(
        self,
        config: MarioVectorEnvConfig | None = None,
        *,
        copy: bool = True,
        render_mode: str | None = None,
        rom: RomConfig | None = None,
        engine: EngineConfig | None = None,
        cache: CacheDir | None = None,
        progress_map: ProgressMap | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.config = config or MarioVectorEnvConfig()
        self.render_mode = render_mode
        self.batch = MarioBatch(self.config, rom=rom, engine=engine, cache=cache, progress_map=progress_map)
        self.num_envs = self.batch.num_envs
        self._copies = copy
        self.single_observation_space = observation_space(self.config.env)
        self.single_action_space = spaces.Discrete(self.batch.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = np.ones(self.num_envs, np.bool_)
        self._all.flags.writeable = False

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """`options`: `reset_mask` (bool [N]) begins new episodes there alone; `stage` ("4-2") or `state` says where."""
        self._expect_open()
        options = options or {}
        if not options.keys() <= _OPTIONS:
            raise ValueError(f"options are {sorted(_OPTIONS)}, got {sorted(options.keys() - _OPTIONS)}")
        if isinstance(seed, int):
            super().reset(seed=seed)
        fresh = self._fresh()
        self.batch.reset(
            seed=seed,
            mask=options.get("reset_mask"),
            stage=stage_option(options.get("stage")),
            state=options.get("state"),
            observations=fresh,
        )
        return self._shown(fresh), vector_infos(self.batch.games, self.batch.episodes, self._all)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        self._expect_open()
        batch, fresh = self.batch, self._fresh()
        batch.step(actions, fresh)
        infos = vector_infos(batch.games, batch.episodes, self._all)
        ended = batch.terminated | batch.truncated
        if ended.any():
            self._add_final(infos, ended)
        results = (batch.rewards, batch.terminated, batch.truncated)
        rewards, terminated, truncated = (array.copy() for array in results) if self._copies else results
        return self._shown(fresh), rewards, terminated, truncated, infos

    def render(self) -> Any:
        """One picture in colour per environment, where the mode is `rgb_array`."""
        self._expect_open()
        return tuple(self.batch.render(env) for env in range(self.num_envs)) if self.render_mode else None

    def close_extras(self, **kwargs: Any) -> None:
        self.batch.close()

    def _add_final(self, infos: dict[str, Any], ended: npt.NDArray[np.bool_]) -> None:
        observations = np.full(self.num_envs, None, object)
        for env in np.flatnonzero(ended):
            observations[env] = self._scaled(self.batch.final_observations[env].copy())
        infos["final_obs"], infos["_final_obs"] = observations, ended
        infos["final_info"] = vector_infos(self.batch.final_games, self.batch.final_episodes, ended)
        infos["_final_info"] = ended

    def _fresh(self) -> npt.NDArray[np.uint8] | None:
        """Where copies are wanted, the console writes straight into the array that is handed out."""
        return np.empty_like(self.batch.observations) if self._copies else None

    def _shown(self, fresh: npt.NDArray[np.uint8] | None) -> Array:
        return self._scaled(self.batch.observations if fresh is None else fresh)

    def _scaled(self, observations: npt.NDArray[np.uint8]) -> Array:
        return scaled(observations) if self.config.env.float_observations else observations

    def _expect_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("this vector environment is closed; make a new one")
