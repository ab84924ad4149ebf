"""The thread that watches: heartbeat, resources, stalls and slow steps."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from mario_a3c.errors import ExitCode, StorageError
from mario_a3c.metrics.lines import LineFile, encode
from mario_a3c.metrics.schema import Record, complete
from mario_a3c.metrics.writer import Trouble
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.monitoring.pulse import Pulse
from mario_a3c.monitoring.resources import Resources
from mario_a3c.monitoring.slow_steps import SlowSteps
from mario_a3c.monitoring.stacks import stacks_of_all_threads, write_stacks
from mario_a3c.monitoring.stalls import Stalls
from mario_a3c.monitoring.watchdog import Watchdog

LOG = logging.getLogger("mario.monitor")

HEARTBEAT_FILE = "heartbeat.jsonl"
_LOOK_SECONDS = 0.5


class Monitor:
    """Looks twice a second, in a thread of its own, and writes the heartbeat itself: a disk on which the metrics are
    stuck, or a learner that is, leaves it alive."""

    def __init__(
        self,
        config: MonitoringConfig,
        folder: Path,
        pulse: Pulse,
        resources: Resources,
        progress: Callable[[], Record],
        *,
        rotate_bytes: int,
        keep_rotated: int,
    ) -> None:
        """`progress` gives what a heartbeat says of the run: session, update, global_step and so on."""
        self._config, self._folder, self._pulse, self._progress = config, folder, pulse, progress
        self.resources = resources
        self.stalls = Stalls(pulse, config.stall_seconds, time.monotonic)
        self.slow_steps = SlowSteps(config, folder, pulse, time.monotonic)
        self._file = LineFile(folder / HEARTBEAT_FILE, max_bytes=rotate_bytes, num_kept=keep_rotated)
        self._trouble = Trouble(str(self._file.path))
        self._watchdog = Watchdog(folder)
        self._stack_file: Path | None = None
        self._next_beat = self._next_sample = 0.0
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._watch, name="mario-monitor", daemon=True)

    def start(self) -> None:
        self.resources.sample()
        self.beat()
        self._watchdog.start()
        self.thread.start()

    def close(self, phase: str, message: str) -> None:
        """The last heartbeat says how it ended."""
        self._stop.set()
        self.thread.join(5.0)
        self._watchdog.close()
        self._pulse.enter(phase)
        self.beat(message)
        self._file.close()
        self.resources.close()

    def _watch(self) -> None:
        pause = min(_LOOK_SECONDS, self._config.heartbeat_interval, self._config.monitor_interval)
        while not self._stop.wait(pause):
            self._look(time.monotonic())

    def _look(self, now: float) -> None:
        self.slow_steps.look()
        if self.stalls.look():
            self._report_stall()
        limit = self._config.stall_exit
        if limit is not None and self.stalls.quiet_seconds > limit:
            self._end_process(limit)
        if now >= self._next_sample:
            self._next_sample = now + self._config.monitor_interval
            self.resources.sample()
        if now >= self._next_beat:
            self._next_beat = now + self._config.heartbeat_interval
            self._watchdog.feed()
            self.beat()

    def beat(self, message: str | None = None) -> None:
        """One heartbeat, now."""
        now, pulse, stalls, system = time.monotonic(), self._pulse, self.stalls, self.resources.fields
        record = complete(
            "heartbeat",
            {
                **self._progress(),
                "time": time.time(),
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "interval_seconds": self._config.heartbeat_interval,
                "phase": pulse.phase,
                "phase_seconds": round(now - pulse.phase_since, 3),
                "quiet_seconds": round(stalls.quiet_seconds, 3),
                "stall_after_seconds": round(stalls.limit_seconds, 3),
                "is_stalled": stalls.is_stalled,
                "stack_file": self._stack_file and str(self._stack_file),
                **{name: system.get(name) for name in _FROM_RESOURCES},
                "message": message,
            },
        )
        try:
            self._file.append(encode(record))
        except OSError as error:
            self._trouble.report(error.strerror or error)
        else:
            self._trouble.over()

    def _report_stall(self) -> None:
        quiet, phase = self.stalls.quiet_seconds, self._pulse.phase
        title = f"nothing has moved for {quiet:.1f} s, in phase {phase}; all threads:"
        try:
            self._stack_file = write_stacks(self._folder, "stall_trace", title, stacks_of_all_threads())
            where = f"the stacks of all threads are in {self._stack_file}"
        except StorageError as error:
            where = f"the stacks were not written: {error}"
        LOG.warning("nothing has moved for %.0f s, in phase %s; %s", quiet, phase, where)
        self.beat()

    def _end_process(self, limit: float) -> None:
        LOG.error("nothing has moved for %.0f s (--stall-exit): ending; go on with --resume latest", limit)
        self._pulse.enter("failed")
        self.beat(f"nothing moved for {limit:.0f} s")
        os._exit(ExitCode.ENVIRONMENT)  # a thread that is stuck does not end by itself


_FROM_RESOURCES = ("cpu_percent", "memory_mb", "num_threads", "gpu_util_last", "gpu_mem_used_mb")
