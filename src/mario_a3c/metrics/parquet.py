"""All metrics and heartbeats of a run in one table: `metrics/latest.parquet`."""

import importlib.util
import os
import secrets
from pathlib import Path

from mario_a3c.metrics.lines import rotated_files
from mario_a3c.metrics.schema import FIELDS, Type

_TYPES: dict[Type, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "switch": "BOOLEAN",
    "texts": "VARCHAR[]",
    "numbers by name": "MAP(VARCHAR, DOUBLE)",
}


class ParquetTable:
    """A `Sink` that makes the table anew from the lines whenever it is told to, whatever the payload."""

    def __init__(self, run: Path) -> None:
        self.name, self._run = str(run / "metrics" / "latest.parquet"), run

    def write(self, _: object) -> None:
        write_parquet(self._run)

    def close(self) -> None:
        """The lines are complete by now."""
        write_parquet(self._run)


def has_duckdb() -> bool:
    return importlib.util.find_spec("duckdb") is not None


def write_parquet(run: Path) -> Path | None:
    """The file, or None where nothing was recorded yet. Readers see the old one or the new one, never half of it."""
    import duckdb

    sources = [str(path) for name in ("metrics", "heartbeat") for path in _parts(run / f"{name}.jsonl")]
    if not sources:
        return None
    target = run / "metrics" / "latest.parquet"
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f".latest.{secrets.token_hex(4)}.tmp")
    columns = {field.name: _TYPES[field.type] for kind in ("metrics", "heartbeat") for field in FIELDS[kind].values()}
    try:
        # One thread: it is to take little of the machine, not little time.
        with duckdb.connect(config={"threads": 1}) as database:
            # A torn line is read as a row of nulls.
            rows = database.read_json(sources, format="newline_delimited", columns=columns, ignore_errors=True)
            rows.filter("kind is not null").order("time").write_parquet(str(temporary))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _parts(path: Path) -> list[Path]:
    return [each for each in (*rotated_files(path), path) if each.exists()]
