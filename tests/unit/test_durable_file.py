import os
from pathlib import Path

import pytest

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError


def test_the_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "new" / "run.json"
    write_durably(target, b"one")
    write_durably(target, b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(target.parent) == ["run.json"]


def test_a_new_file_obeys_the_umask_and_a_replaced_one_keeps_its_mode(tmp_path: Path) -> None:
    old_umask = os.umask(0o077)
    try:
        write_durably(tmp_path / "x", b"1")
    finally:
        os.umask(old_umask)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600
    (tmp_path / "x").chmod(0o640)
    write_durably(tmp_path / "x", b"2")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_durably(tmp_path / "link", b"1")
    write_durably(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"2"


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(StorageError, match="not a file"):
            write_durably(target, b"")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("operation", ["fsync", "chmod", "replace"])
def test_a_failure_at_any_step_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    target = tmp_path / "run.json"
    write_durably(target, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, operation, fail)
    with pytest.raises(StorageError, match=r"run\.json: No space left on device \(3 bytes needed, [\d,]+ free\)"):
        write_durably(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run.json"]


def test_the_content_is_on_disk_before_the_name_changes_hands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(handle: int) -> None:
        order.append("fsync")
        real_fsync(handle)

    def replace(source: str, target: str) -> None:
        order.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_durably(tmp_path / "x", b"")
    assert order == ["fsync", "replace", "fsync"]
