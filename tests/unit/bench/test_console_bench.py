import itertools
import time
from collections.abc import Callable

import pytest

from mario_a3c.bench import console as bench
from mario_a3c.bench.config import BenchConfig
from mario_a3c.bench.run_through import NUM_FRAMES, START, STEP_FRAMES, frames_to_control, run_through
from mario_a3c.errors import ConfigError


def test_the_run_is_as_long_as_it_says() -> None:
    assert len(list(run_through())) * STEP_FRAMES == NUM_FRAMES
    frames = list(frames_to_control(189))
    assert len(frames) == 189
    assert frames.count(START) == 2


def test_subjects_take_turns_and_the_best_of_each_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    seconds = itertools.chain([4.0, 1.0, 2.0, 8.0])
    clock = 0.0

    def subject(name: str) -> "bench._Subject":
        def prepare() -> Callable[[], None]:
            def work() -> None:
                nonlocal clock
                order.append(name)
                clock += next(seconds)

            return work

        return bench._Subject(name, "none", 1, 80, prepare)

    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    speeds = bench._measure_in_turns([subject("a"), subject("b")], rounds=2)
    assert order == ["a", "b", "a", "b"]
    assert [(speed.subject, speed.frames_per_second) for speed in speeds] == [("a", 40), ("b", 80)]


def test_no_rounds_are_refused() -> None:
    with pytest.raises(ConfigError, match="--rounds must be at least 1"):
        BenchConfig(rounds=0)
