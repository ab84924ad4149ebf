"""What a run is doing, told by those who do it and read by the thread that watches."""

import contextlib
import time
from collections.abc import Callable, Iterator


class Pulse:
    """Plain numbers: telling costs next to nothing, and a reader of another thread sees whole ones."""

    def __init__(self, count_steps: Callable[[], int] = int) -> None:
        """`count_steps` is a number that rises as long as environments are stepped."""
        self._count_steps = count_steps
        self.phase = "starting"
        self.phase_since = time.monotonic()
        self._num_beats = 0
        self.update_since: float | None = None
        """When the running update began; None between updates."""

    @property
    def num_beats(self) -> int:
        """Changes whenever anything moves."""
        return self._num_beats + self._count_steps()

    def beat(self) -> None:
        """Something moved."""
        self._num_beats += 1

    def enter(self, phase: str) -> None:
        self.phase, self.phase_since = phase, time.monotonic()
        self._num_beats += 1

    @contextlib.contextmanager
    def during(self, phase: str) -> Iterator[None]:
        before = self.phase
        self.enter(phase)
        yield
        self.enter(before)
