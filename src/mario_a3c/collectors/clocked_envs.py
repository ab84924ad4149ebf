"""Environments with a clock on them: how much of the time is the consoles'."""

import time
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from mario_a3c.envs.env_batch import EnvBatch, Pixels, Seeds
from mario_a3c.stateful import State

_ARRAYS = (
    "observations", "rewards", "terminated", "truncated", "stuck", "final_observations", "episodes", "final_episodes",
)  # fmt: skip


class ClockedEnvs:
    """The same environments; an `EnvBatch`. `before_step` is called before every step and may raise, which ends a
    rollout that nobody waits for any longer. Where groups share their cores, waiting for them is a part of a step."""

    def __init__(self, envs: EnvBatch, before_step: Callable[[], None] | None = None) -> None:
        self.envs, self.seconds, self.num_steps = envs, 0.0, 0
        self.num_envs, self.num_actions = envs.num_envs, envs.num_actions
        self._before_step = before_step
        for name in _ARRAYS:
            setattr(self, name, getattr(envs, name))

    observations: Pixels
    rewards: npt.NDArray[Any]
    terminated: npt.NDArray[Any]
    truncated: npt.NDArray[Any]
    stuck: npt.NDArray[Any]
    final_observations: Pixels
    episodes: npt.NDArray[Any]
    final_episodes: npt.NDArray[Any]

    def reset(self, *, seed: Seeds | None = None, mask: npt.NDArray[Any] | None = None) -> None:
        self.envs.reset(seed=seed, mask=mask)

    def step(self, actions: npt.NDArray[Any], observations: Pixels | None = None) -> None:
        if self._before_step is not None:
            self._before_step()
        started = time.perf_counter()
        self.envs.step(actions, observations)
        self.seconds += time.perf_counter() - started
        self.num_steps += 1

    def state(self) -> State:
        return self.envs.state()

    def restore(self, state: State) -> None:
        self.envs.restore(state)

    def close(self) -> None:
        self.envs.close()
