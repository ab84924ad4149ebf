"""Small tasks with the interface of the real environments and a known best return, for tests that must learn something.

`Corridor` asks for one action again and again; `Ledge` for the right one at every step, or it is over; `DelayedReward`
pays several steps after the action that mattered, or asks to remember what was seen several steps ago.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EPISODE_DTYPE, Bools, EndReason, Floats, Pixels, Seeds
from mario_a3c.stateful import State

HEIGHT = WIDTH = 84
_STATE = ("observations", "rewards", "terminated", "truncated", "episodes", "final_observations", "final_episodes")
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Task:
    """What all tasks share: arrays, seeds, stacking, the next episode in the same step. An `EnvBatch`."""

    num_actions = 3

    def __init__(self, num_envs: int, *, seed: int = 0, frame_stack: int = 4, max_episode_steps: int = 100) -> None:
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        shape = (num_envs, frame_stack, HEIGHT, WIDTH)
        self.observations: Pixels = np.zeros(shape, np.uint8)
        self.final_observations: Pixels = np.zeros(shape, np.uint8)
        self.rewards: Floats = np.zeros(num_envs, np.float32)
        self.terminated: Bools = np.zeros(num_envs, np.bool_)
        self.truncated: Bools = np.zeros(num_envs, np.bool_)
        self.stuck: Bools = np.zeros(num_envs, np.bool_)
        self.episodes: npt.NDArray[Any] = np.zeros(num_envs, EPISODE_DTYPE)
        self.final_episodes: npt.NDArray[Any] = np.zeros(num_envs, EPISODE_DTYPE)
        self.has_failed: Bools = np.zeros(num_envs, np.bool_)  # of those that have terminated
        self.seeds = np.arange(seed, seed + num_envs, dtype=np.int64)
        self._begin(np.ones(num_envs, np.bool_))

    def reset(self, *, seed: Seeds | None = None, mask: Bools | None = None) -> None:
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else mask
        self.episodes["number"][chosen] += 1
        if seed is not None:
            seeds = np.arange(seed, seed + self.num_envs) if isinstance(seed, int) else np.asarray(seed)
            self.seeds[chosen] = seeds[chosen]
            self.episodes["number"][chosen] = 0
        self._begin(chosen)

    def step(self, actions: npt.NDArray[Any], observations: Pixels | None = None) -> None:
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions are integers of shape ({self.num_envs},), got {actions.dtype} {actions.shape}")
        if ((actions < 0) | (actions >= self.num_actions)).any():
            raise ValueError(f"actions are in [0, {self.num_actions}), got {actions}")
        self.rewards[:], self.terminated[:] = self._advance(actions)
        self.episodes["total_reward"] += self.rewards
        self.episodes["num_steps"] += 1
        self.truncated[:] = (self.episodes["num_steps"] >= self.max_episode_steps) & ~self.terminated
        self.episodes["end_reason"] = np.select(
            [self.terminated & self.has_failed, self.terminated, self.truncated],
            [EndReason.DEATH, EndReason.FLAG, EndReason.TIME_LIMIT],
            EndReason.NONE,
        )
        self.observations[:, :-1] = self.observations[:, 1:]
        self.observations[:, -1] = self._draw()
        ended = self.terminated | self.truncated
        if ended.any():
            self.final_observations[ended] = self.observations[ended]
            self.final_episodes[ended] = self.episodes[ended]
            self.episodes["number"][ended] += 1
            self._begin(ended)
        if observations is not None:
            observations[:] = self.observations.reshape(observations.shape)

    def state(self) -> State:
        return {name: getattr(self, name).copy() for name in (*_STATE, "seeds", *self._own())}

    def restore(self, state: State) -> None:
        for name, saved in state.items():
            getattr(self, name)[:] = saved

    def close(self) -> None:
        pass

    def draw_number(self, below: int) -> npt.NDArray[np.int64]:
        """One number per environment, from its seed and the number of its episode alone. [N]"""
        bits = self.seeds.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + self.episodes["number"].astype(np.uint64)
        for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):  # SplitMix64's finalizer
            bits = (bits ^ (bits >> np.uint64(shift))) * multiplier
        drawn: npt.NDArray[np.int64] = ((bits >> np.uint64(33)) % np.uint64(below)).astype(np.int64)
        return drawn

    def _begin(self, mask: Bools) -> None:
        for name in ("total_reward", "progress", "num_steps", "num_frames", "end_reason", "start", "level"):
            self.episodes[name][mask] = 0
        self._begin_task(mask)
        self.observations[mask] = self._draw()[mask, None]

    def _begin_task(self, mask: Bools) -> None:
        raise NotImplementedError

    def _advance(self, actions: npt.NDArray[Any]) -> tuple[Floats, Bools]:
        raise NotImplementedError

    def _draw(self) -> Pixels:
        """What is seen now. [N, H, W]"""
        raise NotImplementedError

    def _own(self) -> tuple[str, ...]:
        """Names of the arrays that this task adds."""
        raise NotImplementedError


class Corridor(Task):
    """Walk to the right end: action 1 goes right, 2 goes left, 0 stays. A step costs 0.01, the end pays 1."""

    STEP_PENALTY = 0.01

    def __init__(self, num_envs: int, *, length: int = 8, seed: int = 0, frame_stack: int = 4) -> None:
        self.length = length
        self.positions = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, seed=seed, frame_stack=frame_stack, max_episode_steps=4 * length)

    @property
    def best_return(self) -> float:
        return 1.0 - self.STEP_PENALTY * self.length

    def _begin_task(self, mask: Bools) -> None:
        self.positions[mask] = 0

    def _advance(self, actions: npt.NDArray[Any]) -> tuple[Floats, Bools]:
        self.positions = np.maximum(self.positions + (actions == 1) - (actions == 2), 0)
        self.episodes["progress"] = np.maximum(self.episodes["progress"], self.positions)
        is_there = self.positions >= self.length
        return (is_there - self.STEP_PENALTY).astype(np.float32), is_there

    def _draw(self) -> Pixels:
        columns = np.arange(WIDTH) * (self.length + 1) // WIDTH
        seen = np.where(columns == self.positions[:, None], 255, 40).astype(np.uint8)
        return np.repeat(seen[:, None], HEIGHT, axis=1)

    def _own(self) -> tuple[str, ...]:
        return ("positions",)


class Ledge(Task):
    """Every step has one right action, which differs from place to place; any other falls. Only the end pays.

    Chance comes to the end once in 3^length times. Episodes begin at `starts`, each drawn as often as its weight says.
    """

    best_return = 1.0

    def __init__(self, num_envs: int, *, length: int = 16, starts: Sequence[int] = (0,), seed: int = 0) -> None:
        self.length, self.starts = length, np.array(starts)
        self.positions = np.zeros(num_envs, np.int64)
        self.set_weights(np.ones(len(starts)))
        super().__init__(num_envs, seed=seed, frame_stack=1)

    def set_weights(self, weights: npt.NDArray[np.float64]) -> None:
        self._cumulative = np.cumsum(weights) / np.sum(weights)

    def _begin_task(self, mask: Bools) -> None:
        resolution = 1 << 20
        drawn = np.searchsorted(self._cumulative, (self.draw_number(resolution) + 0.5) / resolution)
        self.episodes["start"][mask] = drawn[mask]
        self.positions[mask] = self.starts[drawn[mask]]

    def _advance(self, actions: npt.NDArray[Any]) -> tuple[Floats, Bools]:
        self.has_failed[:] = actions != self.positions * 5 // 3 % 3
        self.positions += 1
        is_there = ~self.has_failed & (self.positions >= self.length)
        return is_there.astype(np.float32), is_there | self.has_failed

    def _draw(self) -> Pixels:
        """One bright square of seven times seven."""
        square = WIDTH // 7
        row, column = np.arange(HEIGHT) // square, np.arange(WIDTH) // square
        place = row[:, None] * 7 + column[None]
        return np.where(place == self.positions[:, None, None], 255, 40).astype(np.uint8)

    def _own(self) -> tuple[str, ...]:
        return ("positions",)


class DelayedReward(Task):
    """A bright half is shown, left or right, for one step; the answer is 1 for left and 2 for right, and pays 1 or -1.

    Without `recall` the answer is the first action, paid `delay` steps later. With it the answer is the action `delay`
    steps later, when the picture has long been dark: for a delay beyond the stack only a memory can know it.
    """

    best_return = 1.0

    def __init__(
        self, num_envs: int, *, delay: int = 6, recall: bool = False, seed: int = 0, frame_stack: int = 4
    ) -> None:
        self.delay = delay
        self.recall = recall
        self.cues = np.zeros(num_envs, np.int64)
        self.answers = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, seed=seed, frame_stack=frame_stack)

    def _begin_task(self, mask: Bools) -> None:
        self.cues[mask] = (1 + self.draw_number(2))[mask]
        self.answers[mask] = 0

    def _advance(self, actions: npt.NDArray[Any]) -> tuple[Floats, Bools]:
        at = self.episodes["num_steps"]
        self.answers = np.where(at == (self.delay if self.recall else 0), actions, self.answers)
        is_over = at == self.delay
        pay = np.where(self.answers == self.cues, 1.0, -1.0)
        return (pay * is_over).astype(np.float32), is_over

    def _draw(self) -> Pixels:
        shows = self.episodes["num_steps"] == 0
        is_left = np.arange(WIDTH) < WIDTH // 2
        seen = np.where((is_left == (self.cues == 1)[:, None]) & shows[:, None], 255, 0).astype(np.uint8)
        return np.repeat(seen[:, None], HEIGHT, axis=1)

    def _own(self) -> tuple[str, ...]:
        return ("cues", "answers")
