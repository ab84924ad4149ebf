"""`mario report` as a user meets it, on a home-made game."""

import json
from pathlib import Path

import pytest

from mario_a3c.cli.main import main
from mario_a3c.cli.report import read_lines, training_curves
from mario_a3c.errors import ExitCode
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import write_tiny_game


def run(place: Path, *flags: str | Path) -> int:
    rom = (
        "--rom",
        place / "tiny.nes",
        "--allow-unknown-rom",
        "--cache-dir",
        place / "cache",
        "--engine",
        "interpreter",
    )
    words = ["report", *flags, "--device", "cpu", "--no-videos", *rom, "--out", place / "out"]
    return main([str(word) for word in words])


def test_a_report_of_two_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_game(tmp_path)
    agents = [write_agent(tmp_path / f"{name}.pt", tiny_agent_config()) for name in ("one", "two")]
    (tmp_path / "evaluations.jsonl").write_text('{"global_step": 5, "clear_rate": 0.5}\n{"global_step": 9, "cl')
    assert run(tmp_path, *agents, "--stages", "1-1", "--episodes", "2") == ExitCode.DONE
    assert str(tmp_path / "out" / "report.html") in capsys.readouterr().out
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    names = [each["name"] for each in written["contenders"]]
    assert names == ["untrained at update 3 (1)", "untrained at update 3 (2)", "random", "right only"]
    assert (tmp_path / "out" / "agent1_training.svg").exists()
    modes = {each["mode"] for each in written["contenders"][0]["summaries"]}
    assert modes == {"greedy", "sampled", "noop", "sticky"}


def test_bad_input_is_answered_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_game(tmp_path)
    agent = write_agent(tmp_path / "one.pt", tiny_agent_config())
    for flags, code, message in (
        ((), ExitCode.USAGE, "name at least one checkpoint"),
        ((tmp_path / "none.pt",), ExitCode.CHECKPOINT, "there is no checkpoint"),
        ((agent, "--stages", "9-9"), ExitCode.USAGE, "--stages"),
        ((agent, "--compare", tmp_path / "none.json"), ExitCode.STORAGE, "--compare"),
    ):
        assert run(tmp_path, *flags) == code
        assert message in capsys.readouterr().err


def test_curves_come_from_what_a_run_wrote(tmp_path: Path) -> None:
    assert training_curves(tmp_path) == []
    (tmp_path / "metrics.jsonl").write_text(
        '{"global_step": 1, "clear_rate": 0}\n{"global_step": 2, "clear_rate": null}\n'
    )
    (tmp_path / "evaluations.jsonl").write_text('{"global_step": 4, "clear_rate": 1}\n')
    assert [(each.name, list(each.points)) for each in training_curves(tmp_path)] == [
        ("training", [(1.0, 0.0)]),
        ("evaluation", [(4.0, 1.0)]),
    ]
    assert read_lines(tmp_path / "nothing.jsonl") == []
