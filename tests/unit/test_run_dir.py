import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from mario_a3c.errors import ConfigError, SetupError, StorageError
from mario_a3c.run_dir import RunDir, default_run_name

HOLD_THE_LOCK = """
import sys
from pathlib import Path
from mario_a3c.run_dir import RunDir
with RunDir(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "-flag", ".hidden", "a\0b", "x" * 101, "ä", "a\n"])
def test_a_name_that_is_not_one_plain_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="--run-name"):
        RunDir.open(tmp_path, name)
    assert os.listdir(tmp_path) == []


def test_the_default_name_is_a_valid_one(tmp_path: Path) -> None:
    name = default_run_name(datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), world=1, stage=4)
    assert name == "20260102-030405_world1_stage4"
    assert RunDir.open(tmp_path, name).record == tmp_path / name / "run.json"


def test_a_place_that_cannot_hold_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="--save-dir"):
        RunDir.open(tmp_path / "file", "run")


def test_a_second_process_is_told_who_holds_the_run_and_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    run = RunDir.open(tmp_path, "run")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == b"locked\n"
    with pytest.raises(SetupError, match=f"locked by pid {holder.pid}"), run.locked():
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    holder.stdin.close()
    with run.locked():
        assert (run.path / "run.lock").read_text() == str(os.getpid())


def test_a_new_folder_in_which_nothing_was_written_goes_again(tmp_path: Path) -> None:
    run = RunDir.open(tmp_path, "run")
    with pytest.raises(KeyboardInterrupt), run.locked():  # noqa: PT012 -- what a run does
        assert run.path.exists()
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_a_folder_that_was_there_or_holds_something_stays(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name in ("old", "used"):
        run = RunDir.open(tmp_path, name)
        with pytest.raises(KeyboardInterrupt), run.locked():  # noqa: PT012 -- what a run does
            if name == "used":
                run.record.write_text("{}")
            raise KeyboardInterrupt
    assert sorted(os.listdir(tmp_path)) == ["old", "used"]
