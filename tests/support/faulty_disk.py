"""Disks that crash, lose power, or leave something out: the operations of `os`, recorded, stopped, and played again.

A crash stops the program and keeps what it did. A power cut also loses what was not synced: of a file any part of its
bytes, of a folder any number of its last changes. (The model of SQLite's test6.c; changes within one folder keep their
order, as journals of file systems do.)
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = ("open", "write", "fsync", "replace", "symlink", "unlink")


class Crash(BaseException):
    """The program ends here. No handler of its own may do anything any more."""


@dataclass
class RecordedDisk:
    """Counts and records every operation below a folder; ends the program at one of them, or leaves out some syncs."""

    root: Path
    crash_at: int | None = None
    is_done_first: bool = False
    """Whether the operation at which the program ends still happens; of a write, half of it does."""
    left_out_sync: int | None = None
    syncs_per_round: int = 1
    """Of each so many syncs the one with the number above does not happen."""
    trace: list[tuple[Any, ...]] = field(default_factory=list)
    num_operations: int = 0
    num_syncs: int = 0
    has_crashed: bool = False
    _names: dict[int, Path] = field(default_factory=dict)

    @contextmanager
    def mounted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["RecordedDisk"]:
        with monkeypatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(os, name, self._wrap(name, getattr(os, name)))
            yield self

    def note(self, *event: Any) -> None:
        """For whoever wants to know later what had been promised when."""
        self.trace.append(("note", *event))

    def _wrap(self, name: str, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if not self._concerns(name, arguments):
                return real(*arguments, **named)
            if self.has_crashed:
                raise Crash
            self.has_crashed = self.num_operations == self.crash_at
            self.num_operations += 1
            if self.has_crashed:
                if self.is_done_first:
                    self._half(name, real, arguments, named)
                raise Crash
            if name == "fsync" and self._is_left_out():
                return None
            result = real(*arguments, **named)
            self._record(name, arguments, result)
            return result

        return call

    def _half(self, name: str, real: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if name == "write":
            arguments = (arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        real(*arguments, **named)

    def _concerns(self, name: str, arguments: tuple[Any, ...]) -> bool:
        if name in ("write", "fsync"):
            return arguments[0] in self._names
        place = Path(arguments[1] if name in ("replace", "symlink") else arguments[0])
        return place == self.root or self.root in place.parents

    def _is_left_out(self) -> bool:
        self.num_syncs += 1
        return self.left_out_sync is not None and (self.num_syncs - 1) % self.syncs_per_round == self.left_out_sync

    def _record(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "open":
            path = Path(arguments[0])
            self._names[result] = path
            if arguments[1] & os.O_CREAT:
                self.trace.append(("create", path))
        elif name == "write":
            self.trace.append(("write", self._names[arguments[0]], bytes(arguments[1])[:result]))
        elif name == "fsync":
            self.trace.append(("fsync", self._names[arguments[0]]))
        else:
            self.trace.append((name, *map(Path, arguments)))


class _File:
    def __init__(self) -> None:
        self.written = b""
        self.synced = b""


class PoweredDisk:
    """What such a trace leaves behind when the power fails after it."""

    def __init__(self, root: Path, trace: list[tuple[Any, ...]]) -> None:
        self.root = root
        self.now: dict[Path, Any] = {}
        self.durable: dict[Path, Any] = {}
        self.pending: dict[Path, list[tuple[Path | None, Path | None, Any]]] = {}
        """Changes of each folder since it was synced: the name that goes, the name that comes, and what it names."""
        for event in trace:
            getattr(self, f"_{event[0]}")(*event[1:])

    def cut(self, target: Path, choices: random.Random) -> None:
        """Writes to `target` what a machine may find when it starts again."""
        found = dict(self.durable)
        for changes in self.pending.values():
            for change in changes[: choices.randint(0, len(changes))]:
                _apply(found, *change)
        for path, value in found.items():
            place = target / path.relative_to(self.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(value, _File):
                place.write_bytes(_remains(value, choices))
            else:
                place.symlink_to(value)

    def _create(self, path: Path) -> None:
        self._change(None, path, _File())

    def _write(self, path: Path, content: bytes) -> None:
        self.now[path].written += content

    def _fsync(self, path: Path) -> None:
        if path in self.now:
            self.now[path].synced = self.now[path].written
            return
        for change in self.pending.pop(path, []):
            _apply(self.durable, *change)

    def _replace(self, source: Path, target: Path) -> None:
        self._change(source, target, self.now[source])

    def _symlink(self, target: Path, path: Path) -> None:
        self._change(None, path, target)

    def _unlink(self, path: Path) -> None:
        self._change(path, None, None)

    def _note(self, *_: Any) -> None:
        pass

    def _change(self, gone: Path | None, new: Path | None, value: Any) -> None:
        _apply(self.now, gone, new, value)
        folder = (new or gone or self.root).parent
        self.pending.setdefault(folder, []).append((gone, new, value))


def _apply(names: dict[Path, Any], gone: Path | None, new: Path | None, value: Any) -> None:
    if gone is not None:
        names.pop(gone, None)
    if new is not None:
        names[new] = value


def _remains(file: _File, choices: random.Random) -> bytes:
    """What was synced is there; of the rest anything may be: nothing, a part, zeros, other bytes, all of it."""
    if file.written == file.synced:
        return file.synced
    rest = file.written[len(file.synced) :]
    kind = choices.randrange(5)
    if kind == 0:
        rest = b""
    elif kind == 1:
        rest = rest[: choices.randrange(len(rest))]
    elif kind == 2:
        rest = bytes(len(rest))
    elif kind == 3:
        at = choices.randrange(len(rest))
        rest = rest[:at] + choices.randbytes(min(512, len(rest) - at)) + rest[at + 512 :]
    return file.synced + rest
