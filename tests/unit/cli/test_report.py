"""`mario report` as a user meets it, on a home-made game."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from mario_a3c.evaluation.report_media import training_curves
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import tiny_game_flags, write_tiny_game


def run(place: Path, *flags: str | Path) -> int:
    words = ["report", *flags, "--device", "cpu", "--no-videos", *tiny_game_flags(place), "--out", place / "out"]
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


def test_published_agents_play_each_its_own_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_game(tmp_path)
    folder = tmp_path / "pretrained"
    write_agent(folder / "all.pt", tiny_agent_config(stages="all"))
    write_agent(folder / "last.pt", tiny_agent_config(world=8, stage=4))
    agents = [{"file": "all.pt", "stages": ["1-1", "1-2"]}, {"file": "last.pt", "stages": ["8-4"]}]
    manifest = {"format": "mario-a3c agents 1", "chosen_with_seed": 0, "agents": agents}
    (folder / "agents.json").write_text(json.dumps(manifest))
    flags = ("--stages", "1-1,8-4", "--episodes", "2", "--no-baselines")
    assert run(tmp_path, folder, *flags) == ExitCode.DONE
    assert "chosen by the episodes of --seed 0" in capsys.readouterr().err
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    (published,) = written["contenders"]
    assert published["agents"] == {
        "1-1": {"file": "all.pt", "kind": "generalist"},
        "8-4": {"file": "last.pt", "kind": "specialist"},
    }
    assert [each["stage"] for each in published["summaries"]] == ["1-1"] * 4 + ["8-4"] * 4
    assert written["made_with"]["command"].startswith(f"mario report {folder} --stages 1-1,8-4")
    assert "| 8-4 | specialist last |" in (tmp_path / "out" / "summary.md").read_text()
    assert run(tmp_path, folder, "--stages", "3-3") == ExitCode.USAGE
    assert "have no agent for --stages 3-3" in capsys.readouterr().err


def test_pages_are_drawn_again_without_playing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny_game(tmp_path)
    agent = write_agent(tmp_path / "one.pt", tiny_agent_config())
    assert run(tmp_path, agent, "--stages", "1-1", "--episodes", "2", "--no-pictures") == ExitCode.DONE
    page = tmp_path / "out" / "report.html"
    before = page.read_text()
    page.unlink()
    capsys.readouterr()
    monkeypatch.setattr("mario_a3c.evaluation.runner.play_episodes", None)
    drawn = ("report", "--from", tmp_path / "out" / "report.json", "--no-pictures", "--cache-dir", tmp_path / "cache")
    assert main([str(word) for word in drawn]) == ExitCode.DONE
    assert page.read_text() == before
    assert str(page) in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(agent), "--from", str(tmp_path / "out" / "report.json")])
    assert main(["report", "--from", str(tmp_path / "none.json")]) == ExitCode.STORAGE


_WITH_LITTLE = """
import sys

for name in ("gymnasium", "av", "matplotlib", "PIL", "tensorboard", "duckdb", "optuna", "ray"):
    sys.modules[name] = None  # as if it were not installed
from mario_a3c.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_report_needs_no_optional_package(tmp_path: Path) -> None:
    write_tiny_game(tmp_path)
    agent = write_agent(tmp_path / "one.pt", tiny_agent_config())
    words = [
        "report", agent, "--stages", "1-1", "--episodes", "1", "--device", "cpu", "--out", tmp_path / "out",
        *tiny_game_flags(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _WITH_LITTLE, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no videos: videos need the package av" in done.stderr
    assert (tmp_path / "out" / "report.html").exists()


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
