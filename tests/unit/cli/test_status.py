"""`mario status`: which run it means, what it says, and its exit code."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from mario_a3c.metrics.lines import encode
from mario_a3c.metrics.schema import complete


def make_run(
    folder: Path, name: str, *, age: float = 0.0, metrics: dict[str, Any] | None = None, **fields: Any
) -> Path:
    run = folder / name
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    usual = {"time": time.time() - age, "pid": os.getpid(), "host": socket.gethostname(), "phase": "learn"}
    beat = {**usual, "update": 12, "global_step": 3400, "num_updates_planned": 100, "session": 2, **fields}
    (run / "heartbeat.jsonl").write_bytes(encode(complete("heartbeat", beat)))
    os.utime(run / "heartbeat.jsonl", (time.time() - age,) * 2)
    measured = {"clear_rate": 0.25, "alerts": ["not_finite"], **(metrics or {})}
    (run / "metrics.jsonl").write_bytes(encode(complete("metrics", measured)))
    return run


def status(folder: Path, *argv: str) -> int:
    return main(["status", "--save-dir", str(folder), *argv])


def test_the_newest_run_is_meant_and_how_far_it_is_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "old", age=100.0)
    new = make_run(tmp_path, "new")
    assert status(tmp_path) == ExitCode.DONE
    text = capsys.readouterr().out
    for part in (
        str(new),
        "running: ",
        "update 12 of 100, 3,400 steps, start 2",
        "clear rate 25%",
        "alerts: not_finite",
    ):
        assert part in text


def test_progress_by_a_map_is_a_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path, "run", metrics={"furthest_progress": 0.934})
    (run / "run.json").write_text(json.dumps({"config": {"vector_env": {"env": {"progress": "map"}}}}))
    status(tmp_path, "run")
    assert "furthest 93%" in capsys.readouterr().out


def test_a_run_that_is_not_well_has_its_own_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "stuck", is_stalled=True, quiet_seconds=12.0)
    assert status(tmp_path, "stuck") == ExitCode.ENVIRONMENT
    assert "stalled: nothing has moved for 12 s" in capsys.readouterr().out
    make_run(tmp_path, "over", phase="finished", message="all updates are made", age=1000.0)
    assert status(tmp_path, str(tmp_path / "over")) == ExitCode.DONE
    assert "finished: all updates are made" in capsys.readouterr().out


def test_a_run_of_several_stages_shows_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    stages = {"clear_rate_by_stage": {"1-1": 0.97, "8-4": 0.0}, "stage_weights": {"1-1": 0.25, "8-4": 0.75}}
    run = make_run(tmp_path, "many", metrics={**stages, "global_step": 100})
    assert status(tmp_path, "many", "--plot") == ExitCode.DONE
    text = capsys.readouterr().out
    assert "-1  97  ▃" in text
    assert "play, at most 75%" in text
    assert "\x1b" not in text, "no colours where nobody sees them"
    assert sorted(path.name for path in run.glob("*.png")) == ["curves.png", "curves_stages.png"]


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, "run")
    status(tmp_path, "run", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["health"], found["heartbeat"]["update"], found["metrics"]["clear_rate"]) == ("running", 12, 0.25)


def test_an_unknown_run_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(tmp_path) == status(tmp_path / "nowhere") == status(tmp_path, "no_such") == ExitCode.USAGE
    assert "no_such" in capsys.readouterr().err
