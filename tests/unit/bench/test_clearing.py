"""From the files of runs to the table of how long they took."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from mario_a3c.bench.chart import Line
from mario_a3c.bench.clearing import (
    Clearing,
    CommandTimes,
    Confirmation,
    Moment,
    Point,
    make_table,
    read_clearing,
)
from mario_a3c.bench.clearing_plot import make_plot

COMMAND_STARTED = 1000.0
FIRST_STEP = 1007.0
TIMES = CommandTimes(COMMAND_STARTED, 19.5, 33.0)


def write_run(folder: Path, *records: tuple[int, float, int, int, float | None], reason: str = "cleared") -> Path:
    """On the wall everything takes twice as long as the updates, but for the first."""
    names = ("global_step", "seconds", "episodes_total", "clears_total", "clear_rate")
    rows = [dict(zip(names, record, strict=True)) for record in records]
    times = [FIRST_STEP + record[1] * (2 if number else 1) for number, record in enumerate(records)]
    lines = [
        json.dumps({"kind": "metrics", "update": number, "time": time, **row})
        for number, (time, row) in enumerate(zip(times, rows, strict=True))
    ]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "run.json").write_text(json.dumps({"reason": reason, "config": {"budget": {"clear_window": 20}}}))
    return folder


def write_confirmation(run: Path, *, steps: int, seconds: float, time: float, clears: int, episodes: int) -> None:
    summary = {"num_clears": clears, "num_episodes": episodes}
    record = {"kind": "confirmation", "global_step": steps, "seconds": seconds, "time": time, "summaries": [summary]}
    with open(run / "evaluations.jsonl", "a") as file:
        file.write(json.dumps(record) + "\n")


def cleared_run(folder: Path) -> Path:
    run = write_run(
        folder,
        (100, 1.0, 0, 0, None),
        (200, 2.0, 1, 1, 1.0),  # one lucky episode is not half of twenty
        (300, 3.0, 30, 5, 0.4),
        (400, 4.0, 60, 25, 0.6),
        (500, 5.0, 90, 55, 0.95),
        (600, 6.0, 99, 64, 0.96),
    )
    write_confirmation(run, steps=450, seconds=4.5, time=FIRST_STEP + 9.5, clears=30, episodes=36)
    write_confirmation(run, steps=600, seconds=6.0, time=FIRST_STEP + 12.5, clears=97, episodes=100)
    return run


def test_moments_are_the_first_records_at_which_something_holds(tmp_path: Path) -> None:
    clearing = read_clearing(7, cleared_run(tmp_path), TIMES, {"greedy": 100})
    assert clearing.first_clear == Moment(200, 2.0, 4.0)
    assert clearing.half == Moment(400, 4.0, 8.0)
    assert clearing.most == Moment(500, 5.0, 10.0)
    assert (clearing.seed, clearing.reason, clearing.command_seconds) == (7, "cleared", 19.5)
    assert clearing.curve[-1] == Point(600, 12.0, 0.96)


def test_the_clock_stops_after_the_fresh_episodes_and_counts_those_that_failed(tmp_path: Path) -> None:
    clearing = read_clearing(7, cleared_run(tmp_path), TIMES, {})
    assert clearing.end == Moment(600, 6.0, 12.5)
    assert clearing.confirmations == [Confirmation(450, 30, 36), Confirmation(600, 97, 100)]
    assert (clearing.setup_seconds, clearing.cpu_seconds) == (7.0, 33.0)
    assert "| 12.5 s, 0.00 M steps | 30/36, 97/100 | 33 s | 19.5 s | - |" in make_table([clearing])


def test_nothing_happens_after_the_end(tmp_path: Path) -> None:
    run = write_run(tmp_path, (100, 1.0, 30, 0, 0.0), (200, 4.0, 60, 40, 0.96))  # the last is written at 8.0 s
    write_confirmation(run, steps=200, seconds=4.0, time=FIRST_STEP + 7.5, clears=97, episodes=100)
    clearing = read_clearing(0, run, TIMES, {})
    assert clearing.most == clearing.end == Moment(200, 4.0, 7.5)
    assert clearing.curve[-1].seconds == 7.5


def test_a_run_that_never_cleared_says_so(tmp_path: Path) -> None:
    clearing = read_clearing(0, write_run(tmp_path, (100, 1.0, 30, 0, 0.0), reason="seconds"), TIMES, {})
    assert (clearing.first_clear, clearing.half, clearing.most) == (None, None, None)
    assert "| 0 | - | - | - | 1.0 s, 0.00 M steps (seconds) | - | 33 s | 19.5 s | - |" in make_table([clearing])


def clearing_of(seed: int, *curve: Point) -> Clearing:
    end = Moment(seed * 10**6, seed, seed)
    return Clearing(seed, None, None, None, end, "cleared", 1, seed + 5, seed + 7, curve=list(curve))


def test_the_table_ends_with_medians() -> None:
    table = make_table([clearing_of(seed) for seed in (1, 2, 9)])
    assert table.splitlines()[-1] == "| median | | | | 2.0 s, 2.00 M steps | | 9 s | 7.0 s | |"


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    clearing = read_clearing(7, cleared_run(tmp_path), TIMES, {"greedy": 100})
    assert Clearing.from_json(json.loads(json.dumps(asdict(clearing)))) == clearing


def test_curves_hold_their_last_rate_after_the_end() -> None:
    line = Line([1.0, 2.0, 4.0], [0.1, 0.5, 0.9])
    assert [line.at(place) for place in (0.5, 1.0, 3.9, 4.0, 100.0)] == [0.0, 0.1, 0.5, 0.9, 0.9]


def test_the_plot_shows_median_range_and_ends_over_steps_and_seconds() -> None:
    runs = [
        clearing_of(seed, Point(10**5, 0.5, 0.0), Point(seed * 10**6, seed, rate))
        for seed, rate in ((1, 0.9), (3, 1.0))
    ]
    plot = make_plot(runs, "a < b")
    assert plot.count("<polyline") == plot.count("<polygon") == 2
    assert plot.count('stroke="#222"') == 2 * len(runs)
    assert "a &lt; b" in plot
    assert "3 million steps" in plot
    assert "3 seconds from the first step" in plot
    heights = [float(pair.split(",")[1]) for pair in plot.split('<polyline points="')[1].split('"')[0].split()]
    assert heights[-1] == pytest.approx(min(heights))  # 95 %, the middle of both, at the end
