"""Progress lines: `[train] update 120 of 2,500 ...`, and how long it will still take."""

import logging
import math
import time

from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.training.trainer import Trainer

LOG = logging.getLogger("mario.train")


class ReportProgress:
    """One line every so many seconds, about the time since the last one. A `Task`."""

    def __init__(
        self, trainer: Trainer, interval_seconds: float, unit: ProgressUnit, *, is_silent: bool = False
    ) -> None:
        """Silent where something else shows the same."""
        self._trainer, self._interval, self._is_silent = trainer, interval_seconds, is_silent
        self._unit = unit
        self._next = time.monotonic() + interval_seconds
        self._mark = trainer.parts.timing.mark()
        self._updates, self._steps = self._counts()

    def run_if_due(self) -> None:
        if time.monotonic() >= self._next:
            self.report()

    def report(self) -> None:
        trainer, progress = self._trainer, self._trainer.parts.progress
        self._next = time.monotonic() + self._interval
        shares = trainer.parts.timing.shares_since(self._mark)
        self._mark = trainer.parts.timing.mark()
        updates, steps = self._counts()
        num_updates, num_steps = updates - self._updates, steps - self._steps
        self._updates, self._steps = updates, steps
        if not num_updates or self._is_silent:
            return
        left = eta_seconds(trainer, num_updates / shares.seconds, num_steps / shares.seconds)
        LOG.info(
            "update %s of %s, %s steps, %s steps/s, clear rate %.0f%% of %d episodes, return %s, furthest %s, %s; %s",
            f"{updates:,}",
            f"{trainer.budget.num_updates:,}",
            f"{steps:,}",
            f"{num_steps / shares.seconds:,.0f}",
            100 * progress.clear_rate,
            progress.window_size,
            return_text(progress.avg_return),
            self._unit.text(progress.furthest),
            f"ETA {duration(left)}" + ("" if trainer.budget.clear_rate_to_reach is None else " at most"),
            shares,
        )
        if trainer.parts.replay is not None:
            trainer.parts.replay.log_stats()

    def _counts(self) -> tuple[int, int]:
        progress = self._trainer.parts.progress
        return progress.num_updates, progress.num_steps


def eta_seconds(trainer: Trainer, updates_per_second: float, steps_per_second: float) -> float:
    """Until the first of the budgets is used up."""
    budget, progress = trainer.budget, trainer.parts.progress
    seconds = [(budget.num_updates - progress.num_updates) / max(updates_per_second, 1e-9)]
    if budget.max_steps is not None:
        seconds.append((budget.max_steps - progress.num_steps) / max(steps_per_second, 1e-9))
    if budget.max_seconds is not None:
        seconds.append(trainer.seconds_left())
    return max(0.0, min(seconds))


def return_text(avg_return: float) -> str:
    return "unknown" if math.isnan(avg_return) else f"{avg_return:.2f}"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
