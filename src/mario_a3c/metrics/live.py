"""Keeps a panel at the bottom of a terminal; log lines pass above it."""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from typing import TextIO

from mario_a3c.metrics.terminal_text import plain

_DRAW_SECONDS = 0.5
_CLEAR_BELOW = "\x1b[J"


def can_show_panel(stream: TextIO) -> bool:
    """A terminal that understands movements of the cursor, and blocks."""
    encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and encoding == "utf8"


class LivePanel:
    """Draws twice a second, in a thread of its own: a terminal that is held by Ctrl-S holds nobody else. Also the
    stream to which the log goes meanwhile."""

    def __init__(self, stream: TextIO, make_lines: Callable[[int], Sequence[str]]) -> None:
        self._stream, self._make_lines = stream, make_lines
        self._lock = threading.RLock()
        self._shown: list[str] = []
        self._handlers: list[logging.StreamHandler[TextIO]] = []
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._serve, name="mario-panel", daemon=True)

    def start(self) -> None:
        for handler in logging.getLogger("mario").handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stream:
                handler.setStream(self)  # it writes and flushes, which is all that is asked
                self._handlers.append(handler)
        self.draw()
        self.thread.start()

    def close(self) -> None:
        """Leaves the last picture where it is."""
        self._stop.set()
        self.thread.join(5.0)
        self.draw()
        for handler in self._handlers:
            handler.setStream(self._stream)

    def draw(self) -> None:
        columns, rows = self._size()
        lines = [_fitted(line, columns) for line in self._make_lines(columns - 1)][: max(1, rows - 1)]
        with self._lock:
            self._stream.write(self._erasure() + "".join(line + "\n" for line in lines))
            self._stream.flush()
            self._shown = lines

    def write(self, text: str) -> None:
        """A line of the log, above the panel."""
        with self._lock:
            self._stream.write(self._erasure() + text + "".join(line + "\n" for line in self._shown))

    def flush(self) -> None:
        self._stream.flush()

    def _size(self) -> tuple[int, int]:
        """Of this stream's terminal: the standard output may lead elsewhere."""
        try:
            return os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size()

    def _erasure(self) -> str:
        return f"\x1b[{len(self._shown)}A\r{_CLEAR_BELOW}" if self._shown else ""

    def _serve(self) -> None:
        while not self._stop.wait(_DRAW_SECONDS):
            self.draw()


def _fitted(line: str, columns: int) -> str:
    """A line that would wrap could not be erased again."""
    return line if len(plain(line)) < columns else plain(line)[: columns - 1]
