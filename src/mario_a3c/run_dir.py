"""The folder of one run: its name, its files, and the lock that lets only one process write to it."""

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mario_a3c.errors import ConfigError, SetupError, StorageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class RunDir:
    path: Path
    is_new: bool = field(default=False, compare=False)
    """Whether the folder was made here, and was not there before."""

    @classmethod
    def open(cls, save_dir: Path, run_name: str) -> "RunDir":
        """Makes `save_dir/run_name`. The name is one plain folder name: it never leads out of `save_dir`."""
        path = save_dir / check_run_name(run_name)
        try:
            is_new = not path.is_dir()
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot make the run's folder {path}: {error.strerror or error}; choose another with --save-dir"
            ) from error
        return cls(path, is_new)

    @property
    def record(self) -> Path:
        """What this run is: written at its start."""
        return self.path / "run.json"

    def read_record(self) -> dict[str, Any] | None:
        """None where there is none; an empty one where it cannot be understood."""
        try:
            record = json.loads(self.record.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            return {}
        return record if isinstance(record, dict) else {}

    @property
    def run_id(self) -> str | None:
        """What tells this run from all others, where its record says it."""
        found = (self.read_record() or {}).get("run_id")
        return found if isinstance(found, str) else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process and those it forks; the system frees it when the last of them ends.

        A new folder in which nothing was written meanwhile goes again: it would look like a run that never began.
        """
        with open(self._lock, "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise SetupError(
                    f"{self.path} is locked by pid {holder}, or by what it started; wait for it, stop it, or give "
                    "this run another --run-name"
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            try:
                yield
            finally:
                if self.is_new:
                    self._remove_if_unused()

    @property
    def _lock(self) -> Path:
        return self.path / "run.lock"

    def _remove_if_unused(self) -> None:
        with contextlib.suppress(OSError):  # what cannot be removed does no harm
            if os.listdir(self.path) == [self._lock.name]:
                self._lock.unlink()
                self.path.rmdir()


def check_run_name(name: str) -> str:
    """The name, if it is one plain folder name."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"--run-name must be 1 to 100 letters, digits, dots, hyphens or underscores and begin with a letter "
            f"or digit, got {name!r}"
        )
    return name


def default_run_name(now: datetime, world: int, stage: int) -> str:
    return f"{now:%Y%m%d-%H%M%S}_world{world}_stage{stage}"
