"""Training on another machine, with one that is this one."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ANOTHER_MACHINE = """#!/bin/sh
# ssh HOST COMMAND, where every host is a folder of this machine
HOME="$MACHINE" && cd "$HOME" && shift && exec sh -c "$1"
"""
MARIO = """#!/bin/sh
mkdir -p trained_models && echo "$@" > trained_models/flags && exit 75
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, programs = tmp_path / "machine", tmp_path / "programs"
    for path, text in (
        (programs / "ssh", ANOTHER_MACHINE),
        (programs / "sudo", '#!/bin/sh\nprintf "%s\\n" "$*" > off\n'),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    folder.mkdir()
    monkeypatch.setenv("MACHINE", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def checkout(tmp_path: Path, repository: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "train_remote.py").write_bytes((repository / "scripts" / "train_remote.py").read_bytes())
    (folder / "mario").write_text(MARIO)
    (folder / "mario").chmod(0o755)
    (folder / "not tracked").touch()
    for command in (["init", "-q"], ["add", "mario", "scripts"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def call(checkout: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/train_remote.py", "box", *flags]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 20
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, path
        time.sleep(0.02)
    return path.read_text().strip()


def test_it_starts_there_leaves_its_exit_code_and_switches_off(machine: Path, checkout: Path) -> None:
    done = call(checkout, "--shutdown", "--run-name", "a night", "--", "--stages", "1-1,1-2")
    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr
    assert wait_for(machine / "mario-a3c" / "off") == "-n shutdown -h +1"
    assert wait_for(machine / "mario-a3c" / "a night.exit") == "75"
    assert wait_for(machine / "mario-a3c" / "trained_models" / "flags") == "train --run-name a night --stages 1-1,1-2"
    assert not (machine / "mario-a3c" / "not tracked").exists()
    assert call(checkout, "--fetch").returncode == 0
    assert (checkout / "trained_models" / "flags").exists()


def test_without_being_asked_no_machine_goes_off(machine: Path, checkout: Path) -> None:
    assert call(checkout).returncode == 0
    assert wait_for(machine / "mario-a3c" / "remote.exit") == "75"
    assert not (machine / "mario-a3c" / "off").exists()


def test_a_machine_that_refuses_is_an_error(checkout: Path, machine: Path) -> None:
    (machine / "mario-a3c").write_text("in the way")
    done = call(checkout)
    assert done.returncode != 0
    assert "exit code" in done.stderr


def test_a_dry_run_executes_nothing(machine: Path, checkout: Path) -> None:
    done = call(checkout, "--dry-run", "--", "--max-seconds", "60")
    assert "--max-seconds 60" in done.stdout
    assert not any(machine.iterdir())
