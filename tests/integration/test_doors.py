"""The documented ways in: train.py, test.py, `python -m mario_a3c`, the scripts."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "scripts").glob("*.py"))


def run(repository: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *argv], cwd=repository, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("door", "command"), [(["train.py"], "train"), (["test.py"], "eval"), (["-m", "mario_a3c", "rom"], "rom")]
)
def test_a_door_is_the_same_program(repository: Path, door: list[str], command: str) -> None:
    done = run(repository, *door, "--help")
    assert done.returncode == 0, done.stderr
    assert f"usage: mario {command} " in done.stdout


def test_a_wrong_flag_ends_with_2_and_no_traceback(repository: Path) -> None:
    done = run(repository, "train.py", "--alow-unknown-rom")
    assert done.returncode == 2
    assert "--allow-unknown-rom" in done.stderr
    assert "Traceback" not in done.stderr


def test_evaluation_without_a_checkpoint_says_what_to_do(repository: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(repository / "test.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "trained_models holds no checkpoint; train first, or name one with --checkpoint" in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_help_and_a_dry_run(repository: Path, script: str) -> None:
    assert "--dry-run" in run(repository, f"scripts/{script}", "-h").stdout


def test_generated_pages_are_in_step_with_the_code(repository: Path) -> None:
    done = run(repository, "scripts/generate_docs.py", "--dry-run")
    assert done.returncode == 0, done.stdout + "run `python scripts/generate_docs.py`"


def test_a_script_says_what_is_wrong_in_a_line(repository: Path) -> None:
    for script in ("benchmark_evaluation.py", "inspect_checkpoint.py"):
        done = run(repository, f"scripts/{script}", "/nothing/here.pt")
        assert done.returncode == 4
        assert "there is no checkpoint /nothing/here.pt" in done.stderr
        assert "Traceback" not in done.stderr
