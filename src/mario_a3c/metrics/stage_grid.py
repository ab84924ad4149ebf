"""All stages of a run at a glance: worlds beside each other, their stages below each other; the other way round where
that is too wide.

A cell is how often a stage is cleared from its own start, in percent; how much of its way lies before the earliest
start along it; and how often it is played, beside the stage that is played most.
"""

from collections.abc import Sequence

from mario_a3c.metrics.schema import Record
from mario_a3c.metrics.terminal_text import block, colour, plain

_CELL_WIDTH, _MOST_CELL_WIDTH = 7, 10  # as it must be, and where there is room
_LABEL_WIDTH = 3
_CLEARED = 0.95
_HIGHEST = 0.9  # of a line: bars below each other stay apart


def stage_grid(record: Record, width: int) -> list[str]:
    """Lines with colours; none for a run of one stage."""
    stages = stages_of(record)
    if len(stages) < 2:
        return []
    worlds, numbers = (sorted({name.split("-")[part] for name in stages}) for part in (0, 1))
    is_wide = _LABEL_WIDTH + _CELL_WIDTH * len(worlds) <= width
    columns, rows = (worlds, numbers) if is_wide else (numbers, worlds)
    cell_width = min(_MOST_CELL_WIDTH, max(_CELL_WIDTH, (width - _LABEL_WIDTH) // len(columns)))
    titles = (f"{each}-" if is_wide else f"-{each}" for each in columns)
    lines = [colour(" " * _LABEL_WIDTH + "".join(f"{title:>3}".ljust(cell_width) for title in titles), "dim")]
    for row in rows:
        names = [f"{column}-{row}" if is_wide else f"{row}-{column}" for column in columns]
        label = colour(f"-{row} " if is_wide else f"{row}- ", "dim")
        lines.append(label + "".join(_cell(record, name, cell_width) for name in names))
    return [*lines, _legend(record)]


def stages_of(record: Record) -> Sequence[str]:
    """Those that it says something about."""
    return sorted({**(record.get("clear_rate_by_stage") or {}), **(record.get("stage_weights") or {})})


def _cell(record: Record, stage: str, width: int) -> str:
    text = f"{_clears(record, stage)} {_starts(record, stage)}{_share(record, stage)}"
    return text + " " * (width - len(plain(text)))


def _clears(record: Record, stage: str) -> str:
    rate = (record.get("clear_rate_by_stage") or {}).get(stage)
    if rate is None:
        return colour("  -" if stage in stages_of(record) else "   ", "dim")
    return colour(f"{100 * rate:3.0f}", "green" if rate >= _CLEARED else "yellow" if rate > 0 else "dim")


def _starts(record: Record, stage: str) -> str:
    """Nothing where all episodes begin at the stage's own start."""
    share = (record.get("stage_starts") or {}).get(stage)
    return colour(block(_HIGHEST * share), "cyan") if share else " "


def _share(record: Record, stage: str) -> str:
    weights = record.get("stage_weights") or {}
    return colour(block(_HIGHEST * weights[stage] / max(weights.values())), "blue") if weights.get(stage) else " "


def _legend(record: Record) -> str:
    parts = [colour("% cleared", "green")]
    if any((record.get("stage_starts") or {}).values()):
        parts.append(colour("▅ first start", "cyan"))
    if record.get("stage_weights"):
        parts.append(colour(f"▅ play, at most {max(record['stage_weights'].values()):.0%}", "blue"))
    return "  ".join(parts)
