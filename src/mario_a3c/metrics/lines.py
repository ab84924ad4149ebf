"""Files of lines that survive whatever happens to their writers: whole lines, rotation, nothing torn, nothing lost."""

import contextlib
import errno
import fcntl
import gzip
import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

_BLOCK_BYTES = 1 << 16


class LineFile:
    """Appends whole lines. Threads take turns by themselves; processes that share a file do, too: each append holds
    the file's lock, so that a line is never torn by another one or lost to a rotation.

    A file that has grown to `max_bytes` becomes `name.0001.jsonl.gz`, and so on; of those the last `num_kept` stay.
    """

    def __init__(self, path: Path, *, max_bytes: int = 1 << 26, num_kept: int = 16) -> None:
        self.path, self._max_bytes, self._num_kept = path, max_bytes, num_kept
        self._handle: int | None = None
        self._mutex = threading.RLock()  # the file's own lock knows processes, not threads

    def append(self, lines: bytes) -> None:
        """Complete lines. Raises OSError, and then nothing of them is in the file."""
        with self._locked() as handle:
            size = _without_torn_end(handle)
            if size and size + len(lines) > self._max_bytes:
                rotated = self._rotate()
            else:
                append_whole(handle, size, lines)
                return
        self.append(lines)
        self._compress(rotated)

    def cut_after(self, update: int) -> int:
        """Moves the records of later updates, which a resumed run makes again, to `name.removed.jsonl`; how many."""
        if not self.path.exists():
            return 0
        with self._locked() as handle:
            _without_torn_end(handle)
            lines, is_all = _cut_plain(handle, update, self._keep_removed)
        num_cut = len(lines)
        for rotated in reversed(rotated_files(self.path)):
            if not is_all:
                break
            lines, is_all = _cut_rotated(rotated, update, self._keep_removed)
            num_cut += len(lines)
        return num_cut

    def close(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):  # a full disk says so here, too, and was reported already
                os.fsync(self._handle)
            os.close(self._handle)
            self._handle = None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        with self._mutex:
            handle = self._lock_file()
            try:
                yield handle
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)

    def _lock_file(self) -> int:
        """The file that the path leads to now: it may have been rotated by others, moved or deleted."""
        while True:
            if self._handle is None:
                self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if _is_at(self._handle, self.path):
                return self._handle
            os.close(self._handle)
            self._handle = None

    def _keep_removed(self, lines: list[bytes]) -> None:
        aside = LineFile(self.path.with_name(f"{self.path.stem}.removed{self.path.suffix}"))
        try:
            aside.append(b"".join(lines))
        finally:
            aside.close()

    def _rotate(self) -> Path:
        numbers = [_number_of(path) for path in rotated_files(self.path)]
        target = self.path.with_name(f"{self.path.stem}.{max(numbers, default=0) + 1:04d}{self.path.suffix}")
        os.rename(self.path, target)
        return target

    def _compress(self, rotated: Path) -> None:
        """Nobody writes to it any longer. Killed here, the plain file is still there, and readers find it."""
        temporary = rotated.with_name(f".{rotated.name}.{secrets.token_hex(4)}.tmp")
        try:
            with open(rotated, "rb") as plain, gzip.open(temporary, "wb", compresslevel=5) as packed:
                shutil.copyfileobj(plain, packed, _BLOCK_BYTES)
            os.replace(temporary, rotated.with_name(rotated.name + ".gz"))
            rotated.unlink()
        except OSError:
            temporary.unlink(missing_ok=True)  # no room to compress: it stays as it is
        for old in rotated_files(self.path)[: -self._num_kept]:
            old.unlink(missing_ok=True)


def rotated_files(path: Path) -> list[Path]:
    """The older parts of a file, the oldest first; where a part is there twice, the compressed one."""
    pattern = re.compile(rf"{re.escape(path.stem)}\.(\d{{4,}}){re.escape(path.suffix)}(\.gz)?")
    found: dict[int, Path] = {}
    for each in sorted(path.parent.glob(f"{path.stem}.*{path.suffix}*")):
        if pattern.fullmatch(each.name):
            found[_number_of(each)] = each  # sorted: .gz comes last
    return [found[number] for number in sorted(found)]


def encode(record: Mapping[str, Any]) -> bytes:
    """One line. Raises ValueError on nan and infinity, which are not JSON."""
    return (json.dumps(record, allow_nan=False, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def decode(line: bytes) -> dict[str, Any] | None:
    """The record in a line; None where it is torn, or something else."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def append_whole(handle: int, size: int, lines: bytes) -> None:
    """All or nothing: a full disk may take a part."""
    try:
        num_written = os.write(handle, lines)
    except OSError:
        os.ftruncate(handle, size)
        raise
    if num_written != len(lines):
        os.ftruncate(handle, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _without_torn_end(handle: int) -> int:
    """Cuts off what a killed writer left behind its last whole line; returns the size."""
    size = end = os.fstat(handle).st_size
    if size == 0 or os.pread(handle, 1, size - 1) == b"\n":
        return size
    while end > 0:
        begin = max(0, end - _BLOCK_BYTES)
        newline = os.pread(handle, end - begin, begin).rfind(b"\n")
        end = begin
        if newline >= 0:
            end = begin + newline + 1
            break
    os.ftruncate(handle, end)
    return end


def _is_at(handle: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    here = os.fstat(handle)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _cut_plain(handle: int, update: int, keep: Callable[[list[bytes]], None]) -> tuple[list[bytes], bool]:
    """What was cut, and whether nothing is left. It is kept elsewhere before it is cut here."""
    with open(os.dup(handle), "rb") as file:
        file.seek(0)
        lines = file.readlines()
    first = next((index for index, line in enumerate(lines) if _is_later(line, update)), len(lines))
    if first < len(lines):
        keep(lines[first:])
        os.ftruncate(handle, sum(map(len, lines[:first])))
    return lines[first:], first == 0


def _cut_rotated(path: Path, update: int, keep: Callable[[list[bytes]], None]) -> tuple[list[bytes], bool]:
    with open_lines(path) as file:
        lines = file.readlines()
    first = next((index for index, line in enumerate(lines) if _is_later(line, update)), len(lines))
    if first == len(lines):
        return [], False
    keep(lines[first:])
    if first == 0:
        path.unlink()
        return lines, True
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    packed = cast(Any, gzip.open if path.suffix == ".gz" else open)
    with packed(temporary, "wb") as out:
        out.writelines(lines[:first])
    os.replace(temporary, path)
    return lines[first:], False


def open_lines(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")


def _is_later(line: bytes, update: int) -> bool:
    record = decode(line)
    number = None if record is None else record.get("update")
    return isinstance(number, int) and number > update


def _number_of(path: Path) -> int:
    return int(path.name.removesuffix(".gz").split(".")[-2])
