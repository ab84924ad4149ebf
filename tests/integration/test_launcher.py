"""./mario on machines that are not this one: stand-ins for Python, pip and the compiler on a PATH of our own."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# What the launcher asks of a Python, answered without installing anything. Every pip run leaves a line in the log.
FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *flock*) exec '{python}' "$@" ;;
    *sys.version_info*) echo "$FAKE_VERSION" ;;
    *"import ensurepip"*) exit "${{FAKE_NO_VENV:-0}}" ;;
    --version) echo "Python $FAKE_VERSION" ;;
    "-m venv --clear "*) rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    "-m pip --version") exit "${{FAKE_NO_PIP:-0}}" ;;
    "-m ensurepip") echo "$PWD: $*" >>"$FAKE_LOG" ;;
    "-m pip install "*)
        echo "pip's own chatter"
        [ -z "${{FAKE_PIP_GATE-}}" ] || cat "$FAKE_PIP_GATE" >/dev/null
        echo "$PWD: $*" >>"$FAKE_LOG"
        [ "${{FAKE_PIP_FAILS:-0}}" = 0 ] || exit 1
        printf '#!/bin/sh\nprintf "%%s|" "$PWD" mario "$@"; echo\n' >"${{0%/*}}/mario"
        chmod +x "${{0%/*}}/mario" ;;
    "-m "*) printf '%s|' "$PWD" "$@"; echo ;;
esac
"""
TOOLS = ("sh", "dirname", "readlink", "cat", "rm", "mkdir", "chmod", "cp", "find", "sort", "cksum")


@dataclass
class Machine:
    """A clone of the launcher with the files it looks at, and a PATH with nothing else on it."""

    clone: Path
    path: Path
    log: Path

    def environment(self, **variables: str) -> dict[str, str]:
        return {"PATH": str(self.path), "FAKE_LOG": str(self.log), "FAKE_VERSION": "3.11", **variables}

    def start(self, *argv: str, cwd: Path | None = None, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(self.clone / "mario"), *argv],
            cwd=cwd or self.clone,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *argv: str, cwd: Path | None = None, **variables: str) -> tuple[int, str, str]:
        process = self.start(*argv, cwd=cwd, **variables)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def installs(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, repository: Path) -> Machine:
    clone = tmp_path / "a clone with spaces"
    (clone / "native" / "src").mkdir(parents=True)
    (clone / "native" / "tests").mkdir()
    shutil.copy(repository / "mario", clone)
    for name in ("pyproject.toml", "requirements.txt", "requirements-dev.txt", "native/src/a.cpp"):
        (clone / name).write_text(name)
    path = tmp_path / "bin"
    path.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (path / tool).symlink_to(found)
    for name, content in (("python3", FAKE_PYTHON.format(python=sys.executable)), ("c++", "#!/bin/sh\n")):
        (path / name).write_text(content)
        (path / name).chmod(0o755)
    return Machine(clone, path, tmp_path / "log")


def test_the_first_run_sets_up_and_the_second_only_runs(machine: Machine, tmp_path: Path) -> None:
    code, out, err = machine.run("train", "--rom", "my game.nes", cwd=tmp_path)
    assert (code, out) == (0, f"{tmp_path}|mario|train|--rom|my game.nes|\n")
    assert "[setup] setting up .venv" in err
    assert machine.installs() == [f"{machine.clone}: -m pip install --disable-pip-version-check -r requirements.txt"]
    assert machine.run("train") == (0, f"{machine.clone}|mario|train|\n", "")
    assert len(machine.installs()) == 1


def test_tests_run_in_the_repository_with_the_development_set(machine: Machine, tmp_path: Path) -> None:
    code, out, _ = machine.run("test", "-k", "two words", cwd=tmp_path)
    assert (code, out) == (0, f"{machine.clone}|-m|pytest|-k|two words|\n")
    assert "requirements-dev.txt" in machine.installs()[0]
    assert machine.run("test", "--all", "-x")[1] == f"{machine.clone}|-m|pytest|-m|not soak|-x|\n"
    machine.run("train")
    assert len(machine.installs()) == 1, "the development set holds what training needs"


def test_training_s_set_is_not_enough_for_tests(machine: Machine) -> None:
    machine.run("train")
    machine.run("test")
    assert ["requirements-dev" in line for line in machine.installs()] == [False, True]


@pytest.mark.parametrize(
    ("changed", "num_installs"),
    [
        *(("requirements.txt", 2), ("pyproject.toml", 2), ("native/src/a.cpp", 2), ("native/src/new one.h", 2)),
        *(("native/tests/t.cpp", 1), ("README", 1), ("native/src/.a.cpp.swp", 1), ("native/src/.#a.cpp", 1)),
    ],
)
def test_only_what_decides_the_set_up_makes_it_anew(machine: Machine, changed: str, num_installs: int) -> None:
    machine.run("train")
    (machine.clone / changed).write_text("changed")
    machine.run("train")
    assert len(machine.installs()) == num_installs


def test_a_moved_clone_sets_up_anew(machine: Machine) -> None:
    machine.run("train")
    moved = machine.clone.rename(machine.clone.with_name("moved"))
    (moved / ".venv" / "left over").write_text("")
    machine = Machine(moved, machine.path, machine.log)
    _, out, err = machine.run("train")
    assert out == f"{moved}|mario|train|\n"
    assert "making it anew" in err
    assert not (moved / ".venv" / "left over").exists()


def test_a_python_that_was_upgraded_under_the_environment_sets_up_again(machine: Machine) -> None:
    machine.run("train")
    machine.run("train", FAKE_VERSION="3.12")
    machine.run("train", FAKE_VERSION="3.12")
    assert len(machine.installs()) == 2


def test_an_environment_made_by_hand_is_used_as_it_is(machine: Machine) -> None:
    venv = machine.clone / ".venv"
    (venv / "bin").mkdir(parents=True)
    shutil.copy(machine.path / "python3", venv / "bin" / "python")
    (venv / "my own package").write_text("")
    code, _, err = machine.run("train", FAKE_NO_PIP="1")
    assert code == 0
    assert "anew" not in err
    assert (venv / "my own package").exists()
    assert machine.installs()[0].endswith("-m ensurepip"), "uv makes environments without pip"


def test_an_environment_whose_python_is_gone_is_made_anew(machine: Machine) -> None:
    machine.run("train")
    (machine.clone / ".venv" / "bin" / "python").unlink()
    assert machine.run("train")[0] == 0
    assert len(machine.installs()) == 2


def test_a_failed_set_up_says_so_and_is_repeated(machine: Machine) -> None:
    code, out, err = machine.run("train", FAKE_PIP_FAILS="1")
    assert (code, out) == (3, "")
    assert "the set-up failed" in err
    assert machine.run("train")[0] == 0
    assert len(machine.installs()) == 2


def test_a_failed_change_is_not_forgotten_when_the_change_is_taken_back(machine: Machine) -> None:
    machine.run("train")
    requirements = machine.clone / "requirements.txt"
    before = requirements.read_text()
    requirements.write_text("half installed")
    assert machine.run("train", FAKE_PIP_FAILS="1")[0] == 3
    requirements.write_text(before)
    machine.run("train")
    assert len(machine.installs()) == 3


def test_two_first_runs_at_once_set_up_once(machine: Machine) -> None:
    gate = machine.log.with_name("gate")
    os.mkfifo(gate)
    first = machine.start("train", FAKE_PIP_GATE=str(gate))
    with open(gate, "w"):  # returns once the first one's pip has begun
        second = machine.start("train", FAKE_PIP_GATE=str(gate))
        assert second.stderr is not None
        assert "another set-up is running" in second.stderr.readline()
    results = [process.communicate(timeout=60) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0]
    assert [out for out, _ in results] == [f"{machine.clone}|mario|train|\n"] * 2
    assert len(machine.installs()) == 1


def test_a_killed_set_up_leaves_no_lock_behind(machine: Machine) -> None:
    gate = machine.log.with_name("gate")
    os.mkfifo(gate)
    killed = machine.start("train", FAKE_PIP_GATE=str(gate))
    with open(gate, "w"):
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate(timeout=60)
    assert machine.installs() == []
    assert machine.run("train")[0] == 0


def test_it_works_through_a_link(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mario").symlink_to(Path("..") / machine.clone.name / "mario")
    done = subprocess.run(
        [tmp_path / "links" / "mario", "rom"], env=machine.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("|mario|rom|\n")
    assert (machine.clone / ".venv").exists()


@pytest.mark.parametrize("version", ["3.9", "3.15", "2.7"])
def test_a_python_that_does_not_fit_is_refused_with_the_remedy(machine: Machine, version: str) -> None:
    code, out, err = machine.run("train", FAKE_VERSION=version)
    assert (code, out) == (3, "")
    assert f"needs Python 3.10 to 3.14, and found {version}." in err
    assert "apt-get install python3" in err
    assert machine.installs() == []


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    old = machine.path / "python3"
    (machine.path / "python3.12").write_text(old.read_text().replace("$FAKE_VERSION", "3.12"))
    (machine.path / "python3.12").chmod(0o755)
    old.write_text(old.read_text().replace("$FAKE_VERSION", "3.8"))
    code, _, err = machine.run("train")
    assert code == 0
    assert "Python 3.12" in err


def test_no_compiler_is_answered_with_how_to_get_one(machine: Machine) -> None:
    (machine.path / "c++").unlink()
    code, out, err = machine.run("train")
    assert (code, out) == (3, "")
    assert "no C++ compiler" in err
    assert "apt-get install g++" in err
    assert machine.installs() == []


def test_a_compiler_that_was_named_must_exist(machine: Machine) -> None:
    assert machine.run("train", CXX="no-such-compiler")[0] == 3
    assert machine.run("train", CXX="c++")[0] == 0


def test_a_python_without_venv_is_answered_with_the_package_to_install(machine: Machine) -> None:
    code, _, err = machine.run("train", FAKE_NO_VENV="1")
    assert code == 3
    assert "apt-get install python3-venv" in err
