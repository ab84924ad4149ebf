"""For the case in which Python itself stands still: native code that never lets go of the interpreter."""

import faulthandler
import logging
from io import FileIO
from pathlib import Path

LOG = logging.getLogger("mario.monitor")

FROZEN_FILE = "frozen_trace.log"
_SECONDS = 30.0


class Watchdog:
    """Fed with every heartbeat. Where that stops, a thread of the interpreter's own, which needs nobody's leave,
    writes the stacks of all threads to `frozen_trace.log`. A run in which it never had to leaves no file."""

    def __init__(self, folder: Path, seconds: float = _SECONDS) -> None:
        self._path, self._seconds = folder / FROZEN_FILE, seconds
        self._file: FileIO | None = None

    def start(self) -> None:
        try:
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 -- open as long as the run lives
        except OSError as error:
            LOG.warning("cannot write %s: %s", self._path, error.strerror or error)
        self.feed()

    def feed(self) -> None:
        if self._file is not None:
            faulthandler.dump_traceback_later(self._seconds, file=self._file)

    def close(self) -> None:
        if self._file is None:
            return
        faulthandler.cancel_dump_traceback_later()
        self._file.close()
        self._file = None
        if self._path.exists() and self._path.stat().st_size == 0:
            self._path.unlink()
