"""The script on the game itself: runs of a few seconds, a table, curves and a picture."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_variants_of_a_training_are_compared(repository: Path, game_rom: Path, tmp_path: Path) -> None:
    small = "--stages 1-1 --curriculum none --progress position --num-envs 4 --rollout-steps 16 --minibatches 2"
    fast = f"--device cpu --hidden-size 32 --engine interpreter --max-episode-steps 40 --rom {game_rom}"
    words = ["--task", "game", "--seconds", "3", "--variants", "base", "one-pass", "--add", "bad=--lr -1"]
    command = [sys.executable, "scripts/ablate.py", *words, "--out", str(tmp_path), "--", *f"{small} {fast}".split()]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    base, one_pass, bad = json.loads((tmp_path / "ablation_game.json").read_text())
    assert (base["failure"], one_pass["failure"]) == ("", "")
    for run in (base, one_pass):
        seconds, updates, steps = zip(*(point[:3] for point in run["curve"]), strict=True)
        assert 2 < seconds[-1] < 30
        assert list(steps) == [64 * update for update in updates]
        assert steps[-1] > 0
    assert "--lr must be positive" in bad["failure"]
    assert "| one-pass | `--epochs 1` |" in done.stdout
    assert (tmp_path / "ablation_game.md").read_text() in done.stdout
    assert (tmp_path / "ablation_game.svg").read_text().count("<polyline") == 4  # clear rates alone
