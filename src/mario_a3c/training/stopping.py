"""How a run is asked to stop, and why it did."""

import contextlib
import faulthandler
import logging
import os
import signal
import threading
from collections.abc import Iterator
from enum import Enum
from types import FrameType

from mario_a3c.errors import ExitCode

LOG = logging.getLogger("mario.train")


# A run that is stuck somewhere does not stop by itself; one that saves a lot takes some seconds.
_LAST_RESORT_SECONDS = 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopReason(Enum):
    """Why a run ended; the value is what people read."""

    UPDATES = "all updates are made"
    CLEARED = "the stage is cleared reliably"
    PLAN = "the planned updates are made, the clear rate is not reached"
    STEPS = "--max-steps are made"
    SECONDS = "--max-seconds are over"
    SIGNAL = "interrupted"

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.DONE if self in (StopReason.UPDATES, StopReason.CLEARED) else ExitCode.STOPPED


class UpdateAbandoned(Exception):  # noqa: N818 -- nothing is wrong
    """A running update was left because the run must stop now."""


class StopRequest:
    """Set by a signal, or by whoever runs the training; looked at by the loop, and by whatever takes long."""

    def __init__(self) -> None:
        self.is_set = False
        self._last_resort: threading.Timer | None = None
        self.can_abandon = False
        """Whether the state before the running update was kept."""

    def set(self) -> None:
        self.is_set = True

    def abandon_if_set(self) -> None:
        """For every place where a running update could be left."""
        if self.is_set and self.can_abandon:
            raise UpdateAbandoned

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and a terminal that closes set it; a second one ends the process at once.

        Outside the main thread: nothing. What is ignored (nohup) stays ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._handle) for number in heard}
        try:
            yield
        finally:
            if self._last_resort is not None:
                self._last_resort.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.is_set:
            os._exit(ExitCode.INTERRUPTED)  # files are replaced whole: there is nothing to clean up
        self.set()
        self._last_resort = threading.Timer(_LAST_RESORT_SECONDS, end_with_stacks)
        self._last_resort.daemon = True
        self._last_resort.start()


def end_with_stacks() -> None:
    """For a run that was asked to stop and does not: says where every thread is, and ends the process."""
    faulthandler.dump_traceback(all_threads=True)
    os._exit(ExitCode.INTERRUPTED)
