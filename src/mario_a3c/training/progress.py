"""What a run has achieved so far."""

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.stateful import State


class Progress:
    """Counts, and a window of the last episodes. Only what was learned from is counted."""

    def __init__(self, window: int) -> None:
        self.num_updates = self.num_steps = self.num_episodes = self.num_clears = 0
        self.seconds = 0.0  # of all starts of this run
        self.furthest = 0.0
        self._returns: deque[float] = deque(maxlen=window)
        self._is_clear: deque[bool] = deque(maxlen=window)

    def record(self, num_steps: int, episodes: npt.NDArray[Any]) -> None:
        """One update: its steps, and the records of the episodes that ended in it."""
        self.num_updates += 1
        self.num_steps += num_steps
        if not len(episodes):
            return
        is_clear = episodes["end_reason"] == EndReason.FLAG
        self.num_episodes += len(episodes)
        self.num_clears += int(is_clear.sum())
        self.furthest = max(self.furthest, float(episodes["progress"].max()))
        self._returns.extend(episodes["total_reward"].tolist())
        self._is_clear.extend(is_clear.tolist())

    @property
    def avg_return(self) -> float:
        """Of the last episodes; nan before the first has ended."""
        return sum(self._returns) / len(self._returns) if self._returns else float("nan")

    @property
    def clear_rate(self) -> float:
        return sum(self._is_clear) / len(self._is_clear) if self._is_clear else 0.0

    @property
    def window_size(self) -> int:
        return len(self._is_clear)

    @property
    def is_window_full(self) -> bool:
        return len(self._is_clear) == self._is_clear.maxlen

    def state(self) -> State:
        return {
            "num_updates": self.num_updates,
            "num_steps": self.num_steps,
            "num_episodes": self.num_episodes,
            "num_clears": self.num_clears,
            "seconds": self.seconds,
            "furthest": self.furthest,
            "returns": np.array(self._returns, np.float64),
            "is_clear": np.array(self._is_clear, np.bool_),
        }

    def restore(self, state: State) -> None:
        for name in ("num_updates", "num_steps", "num_episodes", "num_clears", "seconds", "furthest"):
            setattr(self, name, state[name])
        for window, saved in ((self._returns, state["returns"]), (self._is_clear, state["is_clear"])):
            window.clear()
            window.extend(saved.tolist())
