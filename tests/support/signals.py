"""Signals as a process hears them that was started from a terminal.

What a shell ignores (`nohup`, `trap '' INT`, a job in the background) is ignored by everything that it starts, and a
test that sends such a signal would wait for ever.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_HEARD: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def hear_signals() -> None:
    """In this process and, from now on, in those that it starts."""
    for number, handler in _HEARD.items():
        signal.signal(number, handler)


@contextlib.contextmanager
def signals_heard() -> Iterator[None]:
    """Afterwards they are what they were."""
    before = {number: signal.getsignal(number) for number in _HEARD}
    hear_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
