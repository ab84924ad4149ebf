"""`mario bench env` on a home-made game: every subject plays, and the table says what was measured."""

import json
from pathlib import Path

import pytest

from mario_a3c.bench import env as bench
from mario_a3c.cli.main import main
from mario_a3c.envs import reference_envs
from tests.support.tiny_game import write_tiny_game


def test_every_subject_is_measured_and_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_NUM_ENVS", 3)
    monkeypatch.setattr(bench, "_OWN_STEPS", 4)
    monkeypatch.setattr(bench, "_REFERENCE_STEPS", 3)
    monkeypatch.setattr(bench, "thread_counts", lambda: [1, 2])
    monkeypatch.setattr(reference_envs, "installed_reference_envs", list)
    rom, result = write_tiny_game(tmp_path), tmp_path / "result.json"
    options = ["--rom", str(rom), "--allow-unknown-rom", "--engine", "interpreter", "--rounds", "1"]
    assert main(["bench", "env", *options, "--json", str(result)]) == 0
    shown = capsys.readouterr().out
    assert "| mario-a3c MarioVectorEnv | 3 | 2 |" in shown
    assert "Python's share" in shown
    saved = json.loads(result.read_text())
    subjects = [speed["subject"] for speed in saved["speeds"]]
    assert subjects == [
        *["mario-a3c MarioVectorEnv", "mario-a3c MarioBatch, single frames"] * 2,
        "mario-a3c, the same in Python",
    ]
    assert all(speed["steps_per_second"] > 0 for speed in saved["speeds"])
    assert 0 < saved["python_share"] < 1
