"""A line now and then while something takes long."""

import logging
import threading
import time

_SECONDS_BETWEEN_LINES = 5.0


class HowFar:
    """Says how many of how many are done, and about how long the rest takes. Any thread may tell it of one more."""

    def __init__(self, total: int, what: str, log: logging.Logger) -> None:
        self._total, self._what, self._log = total, what, log
        self._num_done = 0
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._next_line = self._started + _SECONDS_BETWEEN_LINES

    def one_more(self, _: object = None) -> None:
        with self._lock:
            self._num_done += 1
            now = time.monotonic()
            if now >= self._next_line and self._num_done < self._total:
                self._next_line = now + _SECONDS_BETWEEN_LINES
                left = (now - self._started) / self._num_done * (self._total - self._num_done)
                self._log.info("%d of %d %s, about %.0f s left", self._num_done, self._total, self._what, left)
