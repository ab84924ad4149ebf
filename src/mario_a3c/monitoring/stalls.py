"""A run in which nothing moves any more."""

from collections.abc import Callable

from mario_a3c.monitoring.pulse import Pulse

_TIMES_LONGEST = 5.0
_WARM_UP_SECONDS = 300.0  # until the first update is made: compiling and recording take minutes on some machines
_ELSEWHERE_SECONDS = 600.0  # what neither collects nor learns, like saving and evaluating, tells nothing while it works
_STEADY = ("collect", "learn")


class Stalls:
    """Knows how long nothing has moved, and how long is too long.

    A slow machine pauses longer between two minibatches than a fast one, so pauses that passed by themselves count;
    the clock is monotonic, so a change of the wall clock is no pause.
    """

    def __init__(self, pulse: Pulse, stall_seconds: float, clock: Callable[[], float]) -> None:
        self._pulse, self._stall_seconds, self._clock = pulse, stall_seconds, clock
        self._num_beats, self._since = pulse.num_beats, clock()
        self._longest, self._phase = 0.0, pulse.phase
        self.is_warm = False
        self.is_stalled = False

    @property
    def quiet_seconds(self) -> float:
        return self._clock() - self._since

    @property
    def limit_seconds(self) -> float:
        usual = max(self._stall_seconds, _TIMES_LONGEST * self._longest)
        if not self.is_warm:
            return max(usual, _WARM_UP_SECONDS)
        return usual if self._pulse.phase in _STEADY else max(usual, _ELSEWHERE_SECONDS)

    def look(self) -> bool:
        """Whether a stall has begun since the last look."""
        if self._pulse.num_beats != self._num_beats:
            if self.is_warm and not self.is_stalled and self._phase in _STEADY:
                self._longest = max(self._longest, self.quiet_seconds)
            self._num_beats, self._since = self._pulse.num_beats, self._clock()
            self._phase = self._pulse.phase
            self.is_stalled = False
            return False
        has_begun = not self.is_stalled and self.quiet_seconds > self.limit_seconds
        self.is_stalled = self.is_stalled or has_begun
        return has_begun
