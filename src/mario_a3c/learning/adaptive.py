"""Entropy and learning rate follow what the agent achieves: stagnation raises exploration, success tightens it."""

import logging
from collections import deque
from dataclasses import dataclass

import torch

from mario_a3c.learning.config import AdaptiveConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.stateful import State

LOG = logging.getLogger("mario.learning")


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change, for the metrics."""

    update: int
    reason: str
    entropy_scale: float
    lr_scale: float


class AdaptiveControl:
    """Looks at two windows of updates, the older and the newer; acts at most once per cool-down, within bounds.

    | seen                                                  | entropy | learning rate |
    | ----------------------------------------------------- | ------- | ------------- |
    | clear rate at or above its mark                       | down    | down          |
    | return rises by more than the threshold               | down    | -             |
    | it does not, and the entropy has fallen, too          | up      | -             |
    | it does not, though the policy still varies           | up      | down          |
    """

    def __init__(self, config: AdaptiveConfig, learner: Learner) -> None:
        self._config, self._learner = config, learner
        self._returns: deque[float] = deque(maxlen=2 * config.adaptive_window)
        self._entropies: deque[float] = deque(maxlen=2 * config.adaptive_window)
        self._next_change = 0

    def observe(self, update: int, average_return: float, clear_rate: float, entropy: float) -> Adjustment | None:
        """After each update; the change it made, if any. Off, it never makes one."""
        if not self._config.adaptive:
            return None
        self._returns.append(average_return)
        self._entropies.append(entropy)
        is_ready = len(self._returns) == self._returns.maxlen and update >= self._next_change
        if not is_ready:
            return None
        return self._change(update, *self._judge(clear_rate))

    def state(self) -> State:
        return {
            "returns": torch.tensor(self._returns, dtype=torch.float64),
            "entropies": torch.tensor(self._entropies, dtype=torch.float64),
            "next_change": self._next_change,
        }

    def restore(self, state: State) -> None:
        for name, window in (("returns", self._returns), ("entropies", self._entropies)):
            window.clear()
            window.extend(state[name].tolist())
        self._next_change = state["next_change"]

    def _judge(self, clear_rate: float) -> tuple[str, int, int]:
        """The reason, and which way entropy and rate go: 1, 0 or -1."""
        if clear_rate >= self._config.adaptive_clear_rate:
            return f"clears {clear_rate:.0%}", -1, -1
        before, now = _halves(self._returns)
        entropy_before, entropy_now = _halves(self._entropies)
        rise = (now - before) / max(abs(before), 1e-6)
        if rise > self._config.adaptive_threshold:
            return f"return rose by {rise:.1%}", -1, 0
        has_narrowed = entropy_now < entropy_before * (1 - self._config.adaptive_threshold)
        return f"return stagnates ({rise:+.1%})", 1, 0 if has_narrowed else -1

    def _change(self, update: int, reason: str, entropy_way: int, lr_way: int) -> Adjustment | None:
        learner = self._learner
        before = learner.entropy_scale, learner.lr_scale
        learner.entropy_scale = self._moved(learner.entropy_scale, entropy_way)
        learner.lr_scale = min(1.0, self._moved(learner.lr_scale, lr_way))
        if (learner.entropy_scale, learner.lr_scale) == before:
            return None
        self._next_change = update + self._config.adaptive_cooldown
        LOG.info(
            "update %d: %s; entropy x%.3g, learning rate x%.3g",
            update, reason, learner.entropy_scale, learner.lr_scale,
        )  # fmt: skip
        return Adjustment(update, reason, learner.entropy_scale, learner.lr_scale)

    def _moved(self, scale: float, way: int) -> float:
        limit = self._config.adaptive_limit
        return min(limit, max(1 / limit, scale * self._config.adaptive_factor**way))


def _halves(window: "deque[float]") -> tuple[float, float]:
    """Means of the older and the newer half."""
    numbers, half = list(window), len(window) // 2
    return sum(numbers[:half]) / half, sum(numbers[half:]) / half
