"""What a run's metrics amount to, field by field."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mario_a3c.errors import ConfigError
from mario_a3c.metrics.reader import LineReader, column, metrics_file
from mario_a3c.metrics.schema import FIELDS


@dataclass(frozen=True, slots=True)
class FieldSummary:
    name: str
    unit: str
    count: int  # records in which it has a value
    first: float
    last: float
    least: float
    largest: float
    mean: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Summary:
    num_records: int
    num_skipped: int
    fields: tuple[FieldSummary, ...]


def summarise(run: Path, *, fields: Sequence[str] | None = None, share: float = 1.0) -> Summary:
    """Of the newest share of the records. Fields that an old version did not write are left out."""
    reader = LineReader(metrics_file(run))
    records = [record for record in reader if record.get("kind", "metrics") == "metrics"]
    records = records[len(records) - round(len(records) * share) :]
    curves = {name: field for name, field in FIELDS["metrics"].items() if field.type in ("integer", "number")}
    unknown = sorted(set(fields or ()) - curves.keys())
    if unknown:
        raise ConfigError(f"metrics have no numbers called {', '.join(unknown)}; docs/metrics_schema.md lists them")
    found = []
    for name in fields or curves:
        values = column(records, name)
        values = values[np.isfinite(values)]
        if len(values):
            numbers = (values[0], values[-1], values.min(), values.max(), values.mean())
            found.append(FieldSummary(name, curves[name].unit, len(values), *map(float, numbers)))
    return Summary(len(records), reader.num_skipped, tuple(found))
