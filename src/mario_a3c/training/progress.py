"""What a run has achieved so far."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EPISODE_DTYPE, EndReason
from mario_a3c.stateful import State

Episodes = npt.NDArray[Any]
_COUNTS = ("num_updates", "num_steps", "num_episodes", "num_clears", "seconds", "furthest")


class EpisodeWindow:
    """The records of the last episodes, in a ring: hundreds may end in a second, and none is touched in Python."""

    def __init__(self, size: int) -> None:
        self._ring: Episodes = np.zeros(size, EPISODE_DTYPE)
        self._num_pushed = 0

    def __len__(self) -> int:
        return min(self._num_pushed, len(self._ring))

    @property
    def is_full(self) -> bool:
        return len(self) == len(self._ring)

    @property
    def episodes(self) -> Episodes:
        """In no order."""
        return self._ring[: len(self)]

    @property
    def clear_rate(self) -> float:
        return float((self.episodes["end_reason"] == EndReason.FLAG).mean()) if len(self) else 0.0

    @property
    def power_up_rate(self) -> float:
        return float((self.episodes["num_power_ups"] > 0).mean()) if len(self) else 0.0

    def push(self, episodes: Episodes) -> None:
        newest = episodes[-len(self._ring) :]
        first = self._num_pushed + len(episodes) - len(newest)
        self._ring[(first + np.arange(len(newest))) % len(self._ring)] = newest
        self._num_pushed += len(episodes)

    def state(self) -> State:
        """With its order in memory: sums are then the same to the last bit."""
        return {"ring": self._ring.copy(), "num_pushed": self._num_pushed}

    def restore(self, state: State) -> None:
        saved, num_pushed = state["ring"], state["num_pushed"]
        ring: Episodes = np.zeros(len(saved), EPISODE_DTYPE)
        for name in saved.dtype.names:  # an older run has fewer
            ring[name] = saved[name]
        if len(ring) == len(self._ring):
            self._ring, self._num_pushed = ring, num_pushed
            return
        order = np.arange(max(0, num_pushed - len(ring)), num_pushed) % len(ring)
        self._num_pushed = 0  # of another size: the same episodes, the oldest first
        self.push(ring[order])


class Progress:
    """Counts, and windows of the last episodes. Only what was learned from is counted."""

    def __init__(self, clear_window: int, return_window: int = 100) -> None:
        self.num_updates = self.num_steps = self.num_episodes = self.num_clears = 0
        self.seconds = 0.0  # of all starts of this run
        self.furthest = 0.0
        self.recent = EpisodeWindow(return_window)
        self._clear_window = clear_window
        self._to_clear = EpisodeWindow(clear_window)
        self._by_level: dict[int, EpisodeWindow] = {}

    def record(self, num_steps: int, episodes: Episodes) -> None:
        """One update: its steps, and the records of the episodes that ended in it."""
        self.num_updates += 1
        self.num_steps += num_steps
        if not len(episodes):
            return
        self.num_episodes += len(episodes)
        self.num_clears += int((episodes["end_reason"] == EndReason.FLAG).sum())
        self.furthest = max(self.furthest, float(episodes["progress"].max()))
        self.recent.push(episodes)
        self._to_clear.push(episodes)
        for level in np.unique(episodes["level"]).tolist():
            self._window_of(level).push(episodes[episodes["level"] == level])

    @property
    def avg_return(self) -> float:
        """Of the last episodes; nan before the first has ended."""
        return float(self.recent.episodes["total_reward"].mean(dtype=np.float64)) if len(self.recent) else float("nan")

    @property
    def clear_rate(self) -> float:
        return self._to_clear.clear_rate

    @property
    def clear_rate_by_level(self) -> dict[int, float]:
        return {level: window.clear_rate for level, window in sorted(self._by_level.items())}

    @property
    def power_up_rate_by_level(self) -> dict[int, float]:
        return {level: window.power_up_rate for level, window in sorted(self._by_level.items())}

    @property
    def window_size(self) -> int:
        return len(self._to_clear)

    @property
    def is_window_full(self) -> bool:
        return self._to_clear.is_full

    def state(self) -> State:
        return {
            **{name: getattr(self, name) for name in _COUNTS},
            "recent": self.recent.state(),
            "to_clear": self._to_clear.state(),
            "by_level": {str(level): window.state() for level, window in self._by_level.items()},
        }

    def restore(self, state: State) -> None:
        for name in _COUNTS:
            setattr(self, name, state[name])
        if "recent" not in state:
            self._restore_first_format(state)
            return
        self.recent.restore(state["recent"])
        self._to_clear.restore(state["to_clear"])
        self._by_level = {}
        for level, saved in state["by_level"].items():
            self._window_of(int(level)).restore(saved)

    def _restore_first_format(self, state: State) -> None:
        """Of checkpoints that kept returns and clears alone."""
        episodes = np.zeros(len(state["returns"]), EPISODE_DTYPE)
        episodes["total_reward"] = state["returns"]
        episodes["end_reason"] = np.where(state["is_clear"], EndReason.FLAG, EndReason.NONE)
        self.recent.push(episodes)
        self._to_clear.push(episodes)

    def _window_of(self, level: int) -> EpisodeWindow:
        return self._by_level.setdefault(level, EpisodeWindow(self._clear_window))
