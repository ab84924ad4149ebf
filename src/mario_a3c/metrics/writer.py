"""One thread writes; whoever has something to record hands it over and goes on."""

import functools
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

LOG = logging.getLogger("mario.metrics")

WARNING_SECONDS = 60.0
_MOST_WAITING = 10_000
_CLOSING_SECONDS = 30.0


class Sink(Protocol):
    """A place where records go. What it raises is reported and does not stop anything."""

    name: str

    def write(self, payload: Any) -> None: ...

    def close(self) -> None: ...


class Trouble:
    """What goes wrong with a sink is said once a minute, and when it is over; training goes on."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock = name, clock
        self.num_lost = 0
        self._next_warning = -float("inf")

    def report(self, reason: object) -> None:
        self.num_lost += 1
        if self._clock() >= self._next_warning:
            self._next_warning = self._clock() + WARNING_SECONDS
            LOG.warning("cannot write %s: %s; %d lost so far, training goes on", self._name, reason, self.num_lost)

    def over(self) -> None:
        if self.num_lost:
            LOG.info("writing %s again, after %d that were lost", self._name, self.num_lost)
            self.num_lost = 0
            self._next_warning = -float("inf")


class Writer:
    """A queue and its thread. Handing over never waits: a disk that does not keep up costs records, and it says so."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Sink, Any] | None] = queue.SimpleQueue()
        self._sinks: dict[str, Sink] = {}
        self._troubles: dict[str, Trouble] = {}
        self.thread = threading.Thread(target=self._serve, name="mario-metrics", daemon=True)
        self.thread.start()

    def add(self, sink: Sink) -> None:
        self._sinks[sink.name] = sink
        self._troubles[sink.name] = Trouble(sink.name)

    def hand_over(self, sink: Sink, payload: Any) -> None:
        if self._queue.qsize() >= _MOST_WAITING:
            self._troubles[sink.name].report("the disk does not keep up")
        else:
            self._queue.put((sink, payload))

    def close(self) -> None:
        """Writes what is waiting. A sink that is stuck is left behind after a while."""
        self._queue.put(None)
        self.thread.join(_CLOSING_SECONDS)
        if self.thread.is_alive():
            LOG.warning("the metrics were not all written in %.0f s; leaving them behind", _CLOSING_SECONDS)
            return
        for sink in self._sinks.values():
            self._has_done(sink, sink.close)

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            sink, payload = item
            if self._has_done(sink, functools.partial(sink.write, payload)):
                self._troubles[sink.name].over()

    def _has_done(self, sink: Sink, action: Callable[[], None]) -> bool:
        trouble = self._troubles[sink.name]
        try:
            action()
        except OSError as error:
            trouble.report(error.strerror or error)
        except Exception as error:  # noqa: BLE001 -- of other people's packages; metrics must not end a run
            trouble.report(repr(error))
        else:
            return True
        return False
