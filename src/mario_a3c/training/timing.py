"""Where the time goes."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mario_a3c.collectors.clocked_envs import ClockedEnvs
from mario_a3c.monitoring.pulse import Pulse


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the time since the last look. Taking turns they make up nearly all of it; overlapped, collecting (consoles
    and acting) goes on beside learning and waiting."""

    seconds: float
    consoles: float
    acting: float
    learning: float
    waiting: float

    def __str__(self) -> str:
        names = ("consoles", "acting", "learning", "waiting")
        return ", ".join(f"{name} {getattr(self, name):.0%}" for name in names)


class Timing:
    """Seconds of each activity. `busy_seconds` is what a collector of its own threads says of itself."""

    def __init__(
        self,
        clocks: Sequence[ClockedEnvs],
        busy_seconds: Callable[[], float] | None = None,
        *,
        rollout_steps: int = 1,
    ) -> None:
        self._clocks, self._busy_seconds, self._rollout_steps = clocks, busy_seconds, rollout_steps
        self.pulse = Pulse(lambda: sum(clock.num_steps for clock in clocks))
        self._collecting = self._learning = 0.0
        self._before = self._totals()

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Until a rollout is there."""
        started = time.perf_counter()
        with self.pulse.during("collect"):
            yield
        self._collecting += time.perf_counter() - started

    @contextlib.contextmanager
    def learning(self) -> Iterator[None]:
        started = time.perf_counter()
        with self.pulse.during("learn"):
            yield
        self._learning += time.perf_counter() - started

    @property
    def rollout_progress(self) -> float:
        """How much of the running rollout is collected."""
        made = sum(clock.num_steps % self._rollout_steps for clock in self._clocks)
        return made / (self._rollout_steps * max(1, len(self._clocks)))

    def take_shares(self) -> Shares:
        """Since the last call."""
        shares = self.shares_since(self._before)
        self._before = self._totals()
        return shares

    def mark(self) -> tuple[float, ...]:
        """A moment, for `shares_since`: several may look at different intervals."""
        return self._totals()

    def shares_since(self, mark: tuple[float, ...]) -> Shares:
        since = [now - before for now, before in zip(self._totals(), mark, strict=True)]
        seconds = max(since[0], 1e-9)
        return Shares(seconds, *(part / seconds for part in since[1:]))

    def _totals(self) -> tuple[float, ...]:
        consoles = sum(clock.seconds for clock in self._clocks) / max(1, len(self._clocks))
        if self._busy_seconds is None:
            busy, waiting = self._collecting, 0.0
        else:
            busy, waiting = self._busy_seconds(), self._collecting
        return time.perf_counter(), consoles, busy - consoles, self._learning, waiting
