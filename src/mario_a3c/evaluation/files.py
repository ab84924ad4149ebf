"""An evaluation as files: JSON for programs, CSV for tables, recordings for playing again."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.summary import cleared_stages, summarize

FORMAT = "mario-a3c evaluation 1"


def evaluation_as_dict(results: Sequence[EpisodeResult], about: Mapping[str, Any]) -> dict[str, Any]:
    summaries = summarize(results)
    return {
        "format": FORMAT,
        **about,
        "cleared": cleared_stages(summaries),
        "summaries": [each.as_dict() for each in summaries],
        "episodes": [result.as_row() for result in results],
    }


def write_json(path: Path, results: Sequence[EpisodeResult], about: Mapping[str, Any]) -> None:
    write_durably(path, (json.dumps(evaluation_as_dict(results, about), indent=1) + "\n").encode())


def write_csv(path: Path, results: Sequence[EpisodeResult]) -> None:
    """One line for each episode."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(results[0].as_row()) if results else ["stage"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.as_row() for result in results)
    write_durably(path, text.getvalue().encode())


def expect_writable(path: Path) -> None:
    """Finds out before minutes of work, and not behind them, that a file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = path.with_name(f".{path.name[:100]}.probe")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
    if path.exists() and not path.is_file():
        raise StorageError(f"cannot write {path}: it exists and is not a file; choose another place")
