"""Compiling an engine while the game runs already, in a process of its own.

The process goes on where the one that started it ends early: the next run finds the engine in the cache. As a program
(`python -m mario_a3c.native.background_engine <cache folder>`) this module takes the cartridge's file from its
standard input, and says on standard error why it failed.
"""

import contextlib
import logging
import subprocess
import sys
import time
from pathlib import Path

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.errors import EngineError, MarioError
from mario_a3c.native.cartridge import Cartridge, parse_cartridge

LOG = logging.getLogger("mario.engine")

_GIVE_UP_SECONDS = 1800.0


class BackgroundBuild:
    """One compilation. Any number of consoles may wait for it."""

    def __init__(self, cartridge: Cartridge, cache: CacheDir) -> None:
        self._started = time.monotonic()
        self._result: EngineError | None = None
        self._is_over = False
        LOG.info("compiling the game's program in the background; the interpreter runs the game until then")
        command = [sys.executable, "-m", __name__, str(cache.root)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Ctrl-C is meant for the run, and what is half compiled would be lost.
                start_new_session=True,
            )
            assert self._process.stdin is not None
            with self._process.stdin as stdin:
                stdin.write(cartridge.file)
        except OSError as error:
            raise EngineError(f"the compilation cannot be started: {error.strerror or error}") from error

    def is_over(self) -> bool:
        """Whether it has ended. Raises EngineError where it failed."""
        if not self._is_over:
            if self._process.poll() is None:
                if self.elapsed_seconds < _GIVE_UP_SECONDS:
                    return False
                self._process.kill()
            self._is_over = True
            self._result = self._failure()
        if self._result is not None:
            raise self._result
        return True

    def wait(self, timeout_seconds: float) -> None:
        """Until it has ended, at most that long."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_seconds)

    @property
    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._started

    def _failure(self) -> EngineError | None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            said = stderr.read()
        if self._process.wait() == 0:
            LOG.info("the game's program is compiled (%.0f s)", self.elapsed_seconds)
            return None
        reason = said.decode(errors="replace").strip()
        return EngineError(reason or f"the compilation ended with {self._process.returncode} and said nothing")


def main() -> int:
    from mario_a3c.native.engine import build_engine

    try:
        cache = CacheDir.open(CacheConfig(cache_dir=Path(sys.argv[1])))
        build_engine(parse_cartridge(sys.stdin.buffer.read()), cache)
    except MarioError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
