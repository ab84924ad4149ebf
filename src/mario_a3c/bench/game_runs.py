"""What a variant's run has achieved: its curve, made from what the run wrote."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.reader import LineReader, read_records

WINDOW = 60  # episodes of a stage that its clear rate and progress are means of


class GamePoint(NamedTuple):
    """Of a learning curve. Clear rates and progress are sums over the stages, of episodes from each stage's own
    start."""

    seconds: float  # on the wall, from the first step
    update: int
    steps: int
    clear_rates: float
    progress: float | None  # shares of the way; none where progress is measured in pixels
    entropy: float | None
    kl: float | None
    steps_per_second: float | None


@dataclass(frozen=True, slots=True)
class GameRun:
    """One variant with one seed."""

    variant: str
    base: list[str]  # flags of all variants
    flags: list[str]  # its own
    seed: int
    failure: str  # empty where it went to its end
    command_seconds: float
    curve: list[GamePoint] = field(default_factory=list)
    at_once: int = 1  # runs that shared the machine

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "GameRun":
        return cls(**{**plain, "curve": [GamePoint(*each) for each in plain["curve"]]})


def by_variant(runs: Sequence[GameRun]) -> dict[str, list[GameRun]]:
    found: dict[str, list[GameRun]] = {}
    for each in runs:
        found.setdefault(each.variant, []).append(each)
    return found


class _Ended(NamedTuple):
    """What is looked at of an episode from its stage's own start."""

    update: int
    stage: str
    progress: float
    is_clear: bool


def read_curve(run_dir: Path) -> list[GamePoint]:
    """Of a run's folder, one point for each record of its metrics; none where there are none."""
    records = read_records(run_dir / "metrics.jsonl")
    if not records:
        return []
    first_step = float(records[0]["time"]) - float(records[0]["seconds"])
    waiting = deque(_whole_episodes(run_dir / "episodes.jsonl"))
    windows: dict[str, deque[_Ended]] = defaultdict(lambda: deque(maxlen=WINDOW))
    is_share = ProgressUnit.of_run(run_dir) is ProgressUnit.SHARE
    curve = []
    for record in records:
        while waiting and waiting[0].update <= record["update"]:
            ended = waiting.popleft()
            windows[ended.stage].append(ended)
        clears, progress = (
            sum(sum(getattr(each, name) for each in window) / len(window) for window in windows.values())
            for name in ("is_clear", "progress")
        )
        curve.append(
            GamePoint(
                round(float(record["time"]) - first_step, 2), record["update"], record["global_step"],
                round(clears, 4), round(progress, 4) if is_share else None,
                record["entropy"], record["kl"], record["env_steps_per_sec"],
            )
        )  # fmt: skip
    return curve


def _whole_episodes(path: Path) -> Iterator[_Ended]:
    for each in LineReader(path):
        if each["is_whole"]:
            yield _Ended(each["update"], each["stage"], each["progress"] or 0.0, each["end_reason"] == "flag")
