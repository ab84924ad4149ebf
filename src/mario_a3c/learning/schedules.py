"""Rates as functions of the number of updates: nothing to save, so a resumed run continues them exactly."""

import math
from dataclasses import dataclass

from mario_a3c.learning.config import EntropySchedule

_MOST_WARMUP_UPDATES = 100


@dataclass(frozen=True, slots=True)
class CosineWithWarmup:
    """Up in a straight line, there for `hold_share` of the run, then down on a cosine to `final_share` of the peak.

    The warm-up is a small share of the run: an optimizer needs some tens of steps to know its gradients, never hours.
    """

    peak: float
    total_updates: int
    warmup_share: float = 0.01
    final_share: float = 0.1
    hold_share: float = 0.0

    @property
    def num_warmup_updates(self) -> int:
        return min(_MOST_WARMUP_UPDATES, math.ceil(self.warmup_share * self.total_updates))

    def __call__(self, update: int) -> float:
        """The rate of update 0, 1, ...; after the end it stays where it ended."""
        warmup = self.num_warmup_updates
        if update < warmup:
            return self.peak * (update + 1) / (warmup + 1)
        held = warmup + round(self.hold_share * (self.total_updates - warmup))
        share = min(1.0, max(0, update - held) / max(1, self.total_updates - held))
        return self.peak * (self.final_share + (1 - self.final_share) * _cosine(share))


@dataclass(frozen=True, slots=True)
class Annealing:
    """From one number to another over the run."""

    first: float
    last: float
    total_updates: int
    shape: EntropySchedule = "linear"

    def __call__(self, update: int) -> float:
        share = min(1.0, update / max(1, self.total_updates - 1))
        if self.shape == "constant":
            return self.first
        left = 1 - share if self.shape == "linear" else _cosine(share)
        return self.last + (self.first - self.last) * left


@dataclass(frozen=True, slots=True)
class Fading:
    """From a number in a straight line to nothing, for good."""

    first: float
    num_updates: int

    def __call__(self, update: int) -> float:
        return self.first * max(0.0, 1.0 - update / max(1, self.num_updates))


@dataclass(frozen=True, slots=True)
class Horizon:
    """The discount, from one to another over the run: its horizon, 1 / (1 - gamma) steps, grows by as much per cent in
    every update."""

    first: float
    last: float
    total_updates: int

    def __call__(self, update: int) -> float:
        if self.first == self.last:
            return self.first
        share = min(1.0, update / max(1, self.total_updates - 1))
        horizons = 1 / (1 - self.first), 1 / (1 - self.last)
        return 1 - 1 / (horizons[0] * math.pow(horizons[1] / horizons[0], share))


def _cosine(share: float) -> float:
    """1 at 0, 0 at 1."""
    return 0.5 * (1 + math.cos(math.pi * share))
