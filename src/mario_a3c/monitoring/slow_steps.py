"""Updates that take too long: a warning each, and the stacks of all threads when they pile up."""

import logging
import statistics
from collections import deque
from collections.abc import Callable
from pathlib import Path

from mario_a3c.errors import StorageError
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.monitoring.pulse import Pulse
from mario_a3c.monitoring.stacks import stacks_of_all_threads, write_stacks

LOG = logging.getLogger("mario.train")

_TIMES_USUAL, _LEAST_SECONDS, _NUM_REMEMBERED, _NUM_TO_KNOW = 4.0, 1.0, 50, 5


class SlowSteps:
    """Counts slow updates in windows of updates. When there are enough of them, `slow_step_trace_<timestamp>.log` shows
    where the threads were in the last one; a window writes one file at the most.

    A thread that watches calls `look` now and then, which takes the stacks while the slow update still runs. An update
    too short for that is shown as it is when it ends.
    """

    def __init__(self, config: MonitoringConfig, folder: Path, pulse: Pulse, clock: Callable[[], float]) -> None:
        self._config, self._folder, self._pulse, self._clock = config, folder, pulse, clock
        self._recent: deque[float] = deque(maxlen=_NUM_REMEMBERED)
        self._seen: tuple[float, str] | None = None  # when an update began, and the stacks that were taken in it
        self._window_end = config.slow_step_trace_window
        self._num_updates = self._num_slow = 0
        self._is_written = False

    def look(self) -> None:
        """Of the watching thread."""
        began, limit = self._pulse.update_since, self.limit_seconds()
        is_new = began is not None and (self._seen is None or self._seen[0] != began)
        if began is not None and is_new and limit is not None and self._clock() - began > limit:
            self._seen = (began, stacks_of_all_threads())

    def after_update(self, began: float, seconds: float) -> Path | None:
        """The file, if it was time to write one."""
        limit = self.limit_seconds()
        self._recent.append(seconds)
        self._num_updates += 1
        if self._num_updates > self._window_end:
            self._window_end = self._num_updates + self._config.slow_step_trace_window - 1
            self._num_slow, self._is_written = 0, False
        if limit is None or seconds <= limit:
            return None
        self._num_slow += 1
        if self._num_slow == 1:
            LOG.warning("an update took %.2f s; more than %.2f s are slow", seconds, limit)
        if self._num_slow < self._config.slow_step_trace_threshold or self._is_written:
            return None
        return self._write(began, seconds, limit)

    def limit_seconds(self) -> float | None:
        """None while too few updates were seen to know what is usual."""
        if self._config.slow_step_seconds:
            return self._config.slow_step_seconds
        if len(self._recent) < _NUM_TO_KNOW:
            return None
        return max(_LEAST_SECONDS, _TIMES_USUAL * statistics.median(tuple(self._recent)))

    def _write(self, began: float, seconds: float, limit: float) -> Path | None:
        self._is_written = True
        was_seen = self._seen is not None and self._seen[0] == began
        stacks = self._seen[1] if was_seen and self._seen is not None else stacks_of_all_threads()
        when = "while it ran" if was_seen else "right after it"
        title = (
            f"{self._num_slow} slow updates in a window of {self._config.slow_step_trace_window}: the last took "
            f"{seconds:.3f} s, more than {limit:.3f} s are slow. All threads, {when}:"
        )
        try:
            path = write_stacks(self._folder, "slow_step_trace", title, stacks)
        except StorageError as error:
            LOG.warning("the stacks of slow updates were not written: %s", error)
            return None
        LOG.warning("%d slow updates; the stacks of all threads are in %s", self._num_slow, path)
        return path
