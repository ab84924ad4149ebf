"""Reads what runs have written: rotated files first, torn lines left out, old and foreign records as they are."""

import gzip
import logging
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import StorageError
from mario_a3c.metrics.lines import decode, open_lines, rotated_files
from mario_a3c.metrics.schema import Record

LOG = logging.getLogger("mario.metrics")

_TAIL_BYTES = 1 << 16


@dataclass(slots=True)
class LineReader:
    """The records of a file and of its rotated parts, in the order in which they were written."""

    path: Path
    num_skipped: int = 0
    """Lines that were no records, so far: torn by a kill, or not ours."""

    def __iter__(self) -> Iterator[Record]:
        for path in (*rotated_files(self.path), self.path):
            yield from self._records_of(path)

    def _records_of(self, path: Path) -> Iterator[Record]:
        try:
            with open_lines(path) as file:
                for line in file:
                    record = decode(line)
                    if record is not None:
                        yield record
                    elif line.strip():
                        self.num_skipped += 1
        except FileNotFoundError:
            return  # rotated between the look and the reading, or never written
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.num_skipped += 1
            LOG.warning("%s is damaged (%s): what is behind that is left out", path, error)
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def read_records(path: Path) -> list[Record]:
    """All of them. A run's folder means its metrics."""
    return list(LineReader(metrics_file(path)))


def metrics_file(path: Path) -> Path:
    return path / "metrics.jsonl" if path.is_dir() else path


def last_record(path: Path) -> Record | None:
    """The newest whole one, without reading the others."""
    for each in (path, *reversed(rotated_files(path))):
        try:
            record = _last_of_gzip(each) if each.suffix == ".gz" else _last_of_plain(each)
        except FileNotFoundError:
            continue
        except (OSError, EOFError, zlib.error):
            record = None
        if record is not None:
            return record
    return None


def column(records: list[Record], name: str) -> npt.NDArray[np.float64]:
    """One field of all records, nan where it is null or was not written yet."""
    values: list[Any] = [record.get(name) for record in records]
    return np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)


def _last_of_plain(path: Path) -> Record | None:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().split(b"\n")
    return next((record for line in reversed(lines) if (record := decode(line)) is not None), None)


def _last_of_gzip(path: Path) -> Record | None:
    record = None
    with gzip.open(path, "rb") as file:
        for line in file:
            record = decode(line) or record
    return record
