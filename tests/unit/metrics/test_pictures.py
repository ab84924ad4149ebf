"""The panel, the terminal it is on, the table and the plot."""

import io
import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.errors import ConfigError
from mario_a3c.metrics.lines import encode
from mario_a3c.metrics.live import LivePanel, can_show_panel
from mario_a3c.metrics.panel import View, render, spark
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.schema import Record, complete
from mario_a3c.metrics.stage_grid import stage_grid
from mario_a3c.metrics.summary import summarise
from mario_a3c.metrics.terminal_text import plain


def records(count: int = 50, **fields: Any) -> list[Record]:
    return [
        complete(
            "metrics",
            {
                "time": 1000.0 + index,
                "update": index,
                "global_step": index * 100,
                "clear_rate": index / count,
                "recent_return_p50": float(index),
                "furthest_progress": 40.0 * index,
                "env_steps_per_sec": 90_000.0,
                "entropy": 1.5,
                "share_consoles": 0.31,
                "share_acting": 0.15,
                "share_learn": 0.54,
                "eta_seconds": 3725.0,
                "alerts": [],
                **fields,
            },
        )
        for index in range(count)
    ]


def shown(columns: int = 100, **fields: Any) -> str:
    view = View("mario · 1-1 · run", "cpu", records(**fields), "learn", 40, 80, ends=[100.0, 2000.0], num_actions=7)
    return plain("\n".join(render(view, columns)))


def test_the_panel_says_what_the_records_say() -> None:
    text = shown()
    for part in (
        "50%  update 40 of 80",
        "1:02:05 left",
        "clears     98%  0 episodes",
        "furthest 1,960",
        "90,000 steps/s",
    ):
        assert part in text, part
    for part in ("consoles 31%", "acting 15%", "learn 54%", "entropy 1.5 of 1.95"):
        assert part in text, part


def test_the_way_by_a_map_is_as_long_as_its_line() -> None:
    fields: dict[str, Any] = {"ends": [0.0, 0.5], "progress_unit": ProgressUnit.SHARE}
    view = View("mario", "cpu", records(furthest_progress=0.75), "learn", 40, 80, **fields)
    line = next(line for line in plain("\n".join(render(view, 100))).splitlines() if "progress" in line)
    assert "furthest 75%" in line
    way = line[line.index("█") : line.index("⚑")]
    places = [way.index("█") / len(way), way.rindex("█") / len(way), way.index("▲") / len(way)]
    assert places == pytest.approx([0.0, 0.5, 0.75], abs=0.02)


@pytest.mark.parametrize("columns", [20, 60, 80, 100, 200])
def test_the_frame_is_closed_whatever_the_width(columns: int) -> None:
    stages = {f"{world}-{stage}": 0.5 for world in range(1, 9) for stage in range(1, 5)}
    text = shown(columns, clear_rate_by_stage=stages, gpu_util_last=50.0, alerts=["not_finite"], loss_total=1 / 3)
    widths = {len(line) for line in text.splitlines()}
    assert widths == {min(max(columns, 60), 110)}
    assert text.count(" 50  ") == 32
    assert "! not_finite" in text


STAGES: dict[str, Any] = {
    "clear_rate_by_stage": {"1-1": 0.97, "1-2": 0.25, "4-1": 0.0},
    "stage_weights": {"1-1": 0.1, "1-2": 0.4, "4-1": 0.3, "4-2": 0.2},
    "stage_starts": {"1-1": 0.0, "1-2": 0.5, "4-1": 1.0, "4-2": 0.9},
}


def test_stages_are_a_grid_of_clear_rates_first_starts_and_shares_of_play() -> None:
    wide = [plain(line).rstrip() for line in stage_grid(STAGES, 17)]
    assert wide == [
        "    1-     4-",
        "-1  97  ▃   0 ▇▆",
        "-2  25 ▄▇   - ▇▄",
        "% cleared  ▅ first start  ▅ play, at most 40%",
    ]
    worlds = {**STAGES, "clear_rate_by_stage": {f"{world}-1": 1.0 for world in range(1, 9)}}
    narrow = [plain(line).rstrip() for line in stage_grid(worlds, 40)]
    assert narrow[0].split() == ["-1", "-2"]
    assert [line[:2] for line in narrow[1:-1]] == [f"{world}-" for world in range(1, 9)]
    assert stage_grid({"clear_rate_by_stage": {"1-1": 0.5}}, 80) == stage_grid({}, 80) == []


def test_several_stages_without_a_curriculum_are_their_clear_rates() -> None:
    lines = [plain(line).rstrip() for line in stage_grid({"clear_rate_by_stage": {"1-1": 0.5, "2-1": 1.0}}, 80)]
    assert lines == ["    1-        2-", "-1  50       100", "% cleared"]


def test_a_run_without_records_and_records_without_fields_can_be_shown() -> None:
    assert "first update" in plain("\n".join(render(View("mario", "", []), 80)))
    assert "clears      -" in plain("\n".join(render(View("mario", "", [{"update": 1}]), 80)))


def test_a_curve_keeps_its_shape_when_it_is_squeezed() -> None:
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert spark([math.sin(each / 100) for each in range(314)], 5) == "▁▆█▆▁"
    assert spark([None, None], 8) == spark([], 8) == ""
    assert spark([5.0, 5.0], 8) == "▁▁"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def screen_of(written: str) -> list[str]:
    """What a terminal shows after this: lines, the cursor going up, and everything below erased."""
    lines, row = [""], 0
    index = 0
    while index < len(written):
        if written.startswith("\x1b[", index):
            end = next(at for at in range(index + 2, len(written)) if written[at].isalpha())
            number, kind = written[index + 2 : end], written[end]
            row -= int(number) if kind == "A" else 0
            lines = [*lines[:row], ""] if kind == "J" else lines
            index = end + 1
            continue
        if written[index] == "\n":
            row += 1
            lines.append("") if row == len(lines) else None
        elif written[index] != "\r":
            lines[row] += written[index]
        index += 1
    return lines


def test_log_lines_stay_above_the_panel_and_the_panel_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: (40, 20))
    terminal, number = Terminal(), 0

    def lines(_: int) -> list[str]:
        return [f"panel {number}", "x" * 100]

    logger = logging.getLogger("mario")
    handler = logging.StreamHandler(terminal)
    logger.addHandler(handler)
    try:
        panel = LivePanel(terminal, lines)
        panel.start()
        for number in range(1, 4):
            logger.warning("line %d", number)
            panel.draw()
        panel.close()
        logger.warning("after it")
    finally:
        logger.removeHandler(handler)
    assert not panel.thread.is_alive()
    assert screen_of(terminal.getvalue()) == ["line 1", "line 2", "line 3", "panel 3", "x" * 39, "after it", ""]


def test_a_panel_needs_a_terminal_that_can_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert can_show_panel(Terminal())
    assert not can_show_panel(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not can_show_panel(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Terminal, "encoding", "latin-1")
    assert not can_show_panel(Terminal())


def write_run(folder: Path) -> None:
    beats = [complete("heartbeat", {"time": 1000.5, "update": 1, "phase": "learn", "pid": 7})]
    (folder / "metrics.jsonl").write_bytes(b"".join(map(encode, records())) + b'{"kind": "metr')
    (folder / "heartbeat.jsonl").write_bytes(b"".join(map(encode, beats)))


def test_the_table_has_metrics_and_heartbeats_and_no_torn_line(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    from mario_a3c.metrics.parquet import write_parquet

    assert write_parquet(tmp_path) is None
    write_run(tmp_path)
    path = write_parquet(tmp_path)
    assert path == tmp_path / "metrics" / "latest.parquet"
    rows = duckdb.sql(f"select kind, count(*), max(clear_rate) from '{path}' group by kind order by kind").fetchall()
    assert rows == [("heartbeat", 1, None), ("metrics", 50, 0.98)]
    assert [each.name for each in path.parent.iterdir()] == ["latest.parquet"]


def test_the_curves_are_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from mario_a3c.metrics.plot import plot_run

    with pytest.raises(ConfigError, match="no metrics yet"):
        plot_run(tmp_path, tmp_path / "curves.png")
    write_run(tmp_path)
    picture = plot_run(tmp_path, tmp_path / "pictures" / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


@pytest.mark.parametrize(
    ("progress", "title"), [("position", "progress, pixels"), ("map", "progress, share of the way")]
)
def test_curves_of_progress_name_its_unit(
    progress: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from mario_a3c.metrics import plot

    write_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"config": {"vector_env": {"env": {"progress": progress}}}}))
    titles: list[str] = []
    monkeypatch.setattr(plot, "draw_panel", lambda axes, title, *_: titles.append(title))
    plot.plot_run(tmp_path, tmp_path / "curves.png")
    assert [each for each in titles if "progress" in each] == [title]


def test_every_stage_has_a_curve_of_its_own_in_a_second_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from mario_a3c.metrics.plot import plot_stages

    write_run(tmp_path)
    assert plot_stages(tmp_path, tmp_path / "stages.png") is None, "one stage alone is in the other picture"
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(map(encode, records(**STAGES))))
    picture = plot_stages(tmp_path, tmp_path / "stages.png")
    assert picture is not None
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("rate", "has_curve"), [(None, False), (0.0, False), (0.25, True)])
def test_mushrooms_have_a_curve_where_any_was_taken(rate: float | None, has_curve: bool) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from mario_a3c.metrics.plot import draw_stage

    axes = Figure().subplots()
    taken = {} if rate is None else {"power_up_rate_by_stage": {"1-2": rate, "1-1": 1.0}}
    draw_stage(axes, "1-2", [complete("metrics", {"global_step": 1, **STAGES, **taken})], is_played=True)
    assert ("with a mushroom" in axes.get_legend_handles_labels()[1]) == has_curve


def test_a_summary_knows_every_number(tmp_path: Path) -> None:
    write_run(tmp_path)
    summary = summarise(tmp_path, fields=["clear_rate", "loss_total"], share=0.5)
    (field,) = summary.fields  # the loss was never finite
    assert (field.count, field.first, field.last, field.largest) == (25, 0.5, 0.98, 0.98)
    assert summary.num_skipped == 1
    with pytest.raises(ConfigError, match="no_such"):
        summarise(tmp_path, fields=["no_such"])
