"""Gymnasium's vector environments as a batch for the learner: other consoles, and environments in processes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete
from gymnasium.vector import VectorEnv

from mario_a3c.envs.env_batch import EPISODE_DTYPE, Bools, Floats, Pixels, Seeds
from mario_a3c.envs.infos import END_REASONS
from mario_a3c.native.bindings import EndReason
from mario_a3c.native.start_states import STAGES_PER_WORLD
from mario_a3c.stateful import State

_END_REASON_OF = {str(name): index for index, name in enumerate(END_REASONS)}
_FIELDS = (
    ("total_reward", "return"),
    ("progress", "progress"),
    ("num_steps", "steps"),
    ("num_frames", "frames"),
    ("num_power_ups", "power_ups"),
)


class VectorEnvBatch:
    """Environments of `create_vector_env`, which go on in the same step, as an `EnvBatch`.

    Consoles of others cannot be saved from outside: a state holds what was seen last, and a batch that is restored cuts
    every episode short in its first step, as it does when the process of an environment is lost. Such episodes end as
    `jammed`.
    """

    def __init__(self, envs: "VectorEnv[Any, Any, Any]", seeds: Sequence[int]) -> None:
        self.envs = envs
        assert isinstance(envs.single_action_space, Discrete)
        self.num_envs, self.num_actions = envs.num_envs, int(envs.single_action_space.n)
        shape = (self.num_envs, *(envs.single_observation_space.shape or ()))
        self.observations: Pixels = np.zeros(shape, np.uint8)
        self.final_observations: Pixels = np.zeros(shape, np.uint8)
        self.rewards: Floats = np.zeros(self.num_envs, np.float32)
        self.terminated: Bools = np.zeros(self.num_envs, np.bool_)
        self.truncated: Bools = np.zeros(self.num_envs, np.bool_)
        self.stuck: Bools = np.zeros(self.num_envs, np.bool_)  # which steps were, these environments do not say
        self.episodes: npt.NDArray[Any] = np.zeros(self.num_envs, EPISODE_DTYPE)
        self.final_episodes: npt.NDArray[Any] = np.zeros(self.num_envs, EPISODE_DTYPE)
        self._seen: Pixels = np.zeros(shape, np.uint8)  # the newest, wherever else it was written
        self._was_restored = False
        self.reset(seed=seeds)

    def reset(self, *, seed: Seeds | None = None, mask: Bools | None = None) -> None:
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask, np.bool_)
        seeds: Any = seed if seed is None or isinstance(seed, int) else [int(each) for each in seed]
        observations, infos = self.envs.reset(seed=seeds, options=None if mask is None else {"reset_mask": chosen})
        self.episodes["number"][chosen] = 0 if seed is not None else self.episodes["number"][chosen] + 1
        self._show(observations, None)
        self._begin_records(infos, chosen)
        for array in (self.rewards, self.terminated, self.truncated):
            array[chosen] = 0

    def step(self, actions: npt.NDArray[Any], observations: Pixels | None = None) -> None:
        if self._was_restored:
            self._cut_everywhere(observations)
            return
        seen, self.rewards[:], self.terminated[:], self.truncated[:], infos = self.envs.step(np.asarray(actions))
        ended = self.terminated | self.truncated
        self.final_episodes[ended] = self.episodes[ended]
        for env in np.flatnonzero(ended).tolist():
            self.final_observations[env] = infos["final_obs"][env]
            self._close_record(infos["final_info"], env)
        self.episodes["number"][ended] += 1
        self._show(seen, observations)
        self._begin_records(infos, ended)
        self._read_records(self.episodes, infos, np.ones(self.num_envs, np.bool_))

    def state(self) -> State:
        return {"observations": self._seen.copy(), "episodes": self.episodes.view(np.uint8).copy()}

    def restore(self, state: State) -> None:
        self._seen[:] = np.asarray(state["observations"], np.uint8)
        self.episodes.view(np.uint8)[:] = np.asarray(state["episodes"], np.uint8)
        self._was_restored = True

    def close(self) -> None:
        if not self.envs.closed:
            self.envs.close()

    def _cut_everywhere(self, target: Pixels | None) -> None:
        """The episodes of before the interruption end where they were; the next ones begin."""
        self._was_restored = False
        self.final_observations[:], self.final_episodes[:] = self._seen, self.episodes
        self.final_episodes["end_reason"] = EndReason.JAMMED
        self.reset()
        self.truncated[:] = True
        self._show(self._seen, target)

    def _show(self, seen: Pixels, target: Pixels | None) -> None:
        self._seen[:] = seen
        shown = self.observations if target is None else target
        shown[:] = self._seen.reshape(shown.shape)

    def _begin_records(self, infos: dict[str, Any], chosen: Bools) -> None:
        self.episodes["start"][chosen] = 0
        level = (infos["world"][chosen] - 1) * STAGES_PER_WORLD + infos["stage"][chosen] - 1
        self.episodes["level"][chosen] = level
        self._read_records(self.episodes, infos, chosen)

    def _close_record(self, final: dict[str, Any], env: int) -> None:
        """One whose process was lost keeps what was known of it."""
        record, end_reason = self.final_episodes[env], str(final["end_reason"][env])
        record["end_reason"] = _END_REASON_OF.get(end_reason, EndReason.JAMMED)
        if end_reason in _END_REASON_OF:
            for field, name in _FIELDS:
                record[field] = final[name][env]

    def _read_records(self, records: npt.NDArray[Any], infos: dict[str, Any], chosen: Bools) -> None:
        for field, name in _FIELDS:
            records[field][chosen] = infos[name][chosen]
        records["end_reason"][chosen] = EndReason.NONE
