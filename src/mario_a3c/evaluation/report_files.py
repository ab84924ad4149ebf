"""A report as files: written whole, read again to be compared with, or to be drawn anew on another machine."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.plots import Curve
from mario_a3c.evaluation.report import (
    FORMAT,
    AgentFile,
    Contender,
    Report,
    as_html,
    as_markdown,
    as_summary,
    plots_of,
)

EPISODES = "episodes.csv"
_WRONG = (KeyError, TypeError, ValueError, AttributeError)


def write_report(report: Report, folder: Path) -> list[Path]:
    """`report.json`, every episode, and the pages, which can be drawn from these two alone."""
    write_durably(folder / "report.json", (json.dumps(report.as_dict(), indent=1) + "\n").encode())
    write_durably(folder / EPISODES, _episodes_as_csv(report.contenders).encode())
    return [folder / "report.json", *write_pages(report, folder)]


def write_pages(report: Report, folder: Path) -> list[Path]:
    """`report.md`, `summary.md`, `report.html` and the plots."""
    plots = plots_of(report)
    for name, svg in plots.items():
        write_durably(folder / name, svg.encode())
    pages = {
        "report.md": as_markdown(report, list(plots)),
        "summary.md": as_summary(report),
        "report.html": as_html(report, plots),
    }
    for name, text in pages.items():
        write_durably(folder / name, text.encode())
    return [folder / name for name in pages]


def read_report(path: Path, flag: str = "--compare") -> dict[str, Any]:
    """The JSON of an earlier report."""
    try:
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{flag} {path} cannot be read: {error}") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise StorageError(f"{flag} {path} is not the report.json of an earlier report")
    return plain


def load_report(path: Path, flag: str = "--from") -> Report:
    """A whole report, from its `report.json` and the episodes beside it."""
    plain = read_report(path, flag)
    beside = path.with_name(EPISODES)
    try:
        with open(beside, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StorageError(f"{flag} {path}: the episodes in {beside} cannot be read: {error}") from error
    try:
        contenders = [_contender_of(number, each, rows) for number, each in enumerate(plain["contenders"])]
        report = Report(
            contenders, plain["stages"], plain["episodes"], plain["seed"], made_with=plain.get("made_with", {})
        )
    except _WRONG as error:
        raise StorageError(f"{flag} {path} is damaged: {error!r}") from error
    for ours, theirs in zip(report.contenders, plain["contenders"], strict=True):
        counts = [
            (each["stage"], each["mode"], each["num_clears"], each["num_episodes"]) for each in theirs["summaries"]
        ]
        if [(each.stage, each.mode, each.num_clears, each.num_episodes) for each in ours.summaries] != counts:
            raise StorageError(f"{flag} {path}: {beside} is of another report, its rates are others")
    return report


def _contender_of(number: int, plain: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> Contender:
    return Contender(
        name=plain["name"],
        about=plain["about"],
        results=[EpisodeResult.from_row(row) for row in rows if int(row["contender"]) == number],
        training=[Curve(each["name"], [tuple(point) for point in each["points"]]) for each in plain["training"]],
        is_baseline=plain["is_baseline"],
        agents={stage: AgentFile(each["file"], each["kind"]) for stage, each in plain["agents"].items()},
    )


def _episodes_as_csv(contenders: Sequence[Contender]) -> str:
    text = io.StringIO()
    rows = [
        {"contender": number, **result.as_row()} for number, each in enumerate(contenders) for result in each.results
    ]
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["contender"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
