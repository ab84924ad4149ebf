"""Whole files or none: what is written here is complete after a crash, or the old file is still there."""

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from mario_a3c.errors import StorageError

_CHUNK_BYTES = 1 << 20
# The leading dot and the suffix keep half-written files out of every pattern that looks for whole ones.
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.tmp")


def write_durably(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replaces `path` by `content`, and returns when that is on disk.

    A link is followed. A file that is replaced keeps its permissions; a new one gets `mode` less the umask.
    """
    with _explained(path, len(content)):
        target = path.resolve()
    make_folder(target.parent)
    replace_file(target, content, mode=mode)
    sync_folder(target.parent)


def make_folder(folder: Path) -> None:
    with _explained(folder, 0):
        folder.mkdir(parents=True, exist_ok=True)


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Temporary file beside it, fsync, read back, rename. The new name is on disk after `sync_folder` of its folder."""
    with _explained(path, len(content)):
        if path.exists() and not path.is_file():
            raise StorageError(f"cannot write {path}: it exists and is not a file; choose another place")
        temporary = _temporary_name(path)
        try:
            _write(temporary, content, mode)
            _expect_on_disk(temporary, content)
            if path.exists():
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def link_to(link: Path, target: Path) -> None:
    """Makes `link` lead to `target`, by a relative path, replacing what it led to; a reader sees one or the other."""
    with _explained(link, 0):
        temporary = _temporary_name(link)
        try:
            os.symlink(os.path.relpath(target, link.parent), temporary)
            os.replace(temporary, link)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def sync_folder(folder: Path) -> None:
    """Names that were made, changed or removed in it are on disk afterwards."""
    with _explained(folder, 0):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_leftovers(folder: Path, of: "re.Pattern[str]", *, older_than_seconds: float = 0.0) -> list[Path]:
    """Removes what a writer that was killed left behind: temporary files of targets whose names match `of`."""
    found = [
        path
        for path in folder.glob(".*.tmp")
        if (match := _TEMPORARY.fullmatch(path.name)) and of.fullmatch(match["name"])
    ]
    stale = [path for path in found if _age_seconds(path) >= older_than_seconds]
    for path in stale:
        path.unlink(missing_ok=True)
    return stale


def free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")


def _write(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest[:_CHUNK_BYTES]) :]
        # After a failed fsync the pages count as clean though they are not on disk: the file is given up, not retried.
        os.fsync(handle)
    finally:
        os.close(handle)


def _expect_on_disk(path: Path, content: bytes) -> None:
    """Reads back what was written, from the disk and not from memory where the system can be asked to forget."""
    expected = memoryview(content)
    with open(path, "rb", buffering=0) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for start in range(0, len(content) + 1, _CHUNK_BYTES):
            if file.read(_CHUNK_BYTES) != expected[start : start + _CHUNK_BYTES]:
                raise StorageError(f"{path.parent} does not give back what was written to it; use another disk")


def _age_seconds(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return -1.0


@contextlib.contextmanager
def _explained(path: Path, needed_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        free = free_bytes(path.parent)
        known = "unknown" if free is None else f"{free:,}"
        raise StorageError(
            f"cannot write {path}: {error.strerror or error} ({needed_bytes:,} bytes needed, {known} free); "
            "free some space, mend the permissions or choose another place"
        ) from error
