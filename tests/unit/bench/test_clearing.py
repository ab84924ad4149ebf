"""From the files of runs to the table of how long they took."""

import json
from pathlib import Path

from mario_a3c.bench.clearing import Clearing, Moment, make_table, read_clearing


def write_run(folder: Path, *records: tuple[int, float, int, int, float | None], reason: str = "cleared") -> Path:
    names = ("global_step", "seconds", "episodes_total", "clears_total", "clear_rate")
    rows = (dict(zip(names, record, strict=True)) for record in records)
    lines = [json.dumps({"kind": "metrics", "update": number, **row}) for number, row in enumerate(rows)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "run.json").write_text(json.dumps({"reason": reason, "config": {"budget": {"clear_window": 20}}}))
    return folder


def test_moments_are_the_first_records_at_which_something_holds(tmp_path: Path) -> None:
    run = write_run(
        tmp_path,
        (100, 1.0, 0, 0, None),
        (200, 2.0, 1, 1, 1.0),  # one lucky episode is not half of twenty
        (300, 3.0, 30, 5, 0.4),
        (400, 4.0, 60, 25, 0.6),
        (500, 5.0, 90, 55, 0.95),
    )
    clearing = read_clearing(7, run, 9.5, {"greedy": 100})
    assert clearing.first_clear == Moment(200, 2.0)
    assert clearing.half == Moment(400, 4.0)
    assert clearing.end == Moment(500, 5.0)
    assert (clearing.seed, clearing.reason, clearing.command_seconds) == (7, "cleared", 9.5)
    assert clearing.curve[-1] == (5.0, 0.95)


def test_a_run_that_never_cleared_says_so(tmp_path: Path) -> None:
    clearing = read_clearing(0, write_run(tmp_path, (100, 1.0, 30, 0, 0.0), reason="seconds"), 2.0, {})
    assert (clearing.first_clear, clearing.half) == (None, None)
    assert "| 0 | - | - | 1.0 s, 0.00 M steps (seconds) | 2.0 s | - |" in make_table([clearing])


def test_the_table_ends_with_medians() -> None:
    runs = [Clearing(seed, None, None, Moment(seed * 10**6, seed), "cleared", seed + 5) for seed in (1, 2, 9)]
    assert make_table(runs).splitlines()[-1] == "| median | | | 2.0 s, 2.00 M steps | 7.0 s | |"
