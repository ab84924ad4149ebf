"""How long it takes from nothing to an agent that clears a stage: several seeds, each a command of its own."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mario_a3c.errors import ExitCode, SetupError
from mario_a3c.evaluation.config import MODES
from mario_a3c.metrics.reader import LineReader, read_records

_EVALUATED_EPISODES = 100
_METRICS_SECONDS = "0.5"  # how exactly moments are known
_HALF, _MOST = 0.5, 0.95


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was reached. Seconds are from the run's first step: of updates alone, and on the wall, where
    fresh episodes and whatever else a run does between updates count, too."""

    steps: int
    update_seconds: float
    seconds: float


class Point(NamedTuple):
    """Of a learning curve."""

    steps: int
    seconds: float  # on the wall
    clear_rate: float  # of the last --clear-window training episodes


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Fresh episodes that a run played to find out whether it may end."""

    steps: int
    num_clears: int
    num_episodes: int  # fewer than all where too many had failed by then

    @property
    def text(self) -> str:
        return f"{self.num_clears}/{self.num_episodes}"


class CommandTimes(NamedTuple):
    """Of `mario train`, from typing it to its end; `started` as `time.time()` says it."""

    started: float
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Clearing:
    """One seed. Moments are of training episodes, sampled; `clears` of fresh ones after it, by mode, of 100 each."""

    seed: int
    first_clear: Moment | None
    half: Moment | None  # of the last --clear-window episodes
    most: Moment | None  # 95 % of them
    end: Moment
    reason: str  # why the run ended
    setup_seconds: float  # from typing the command to the first step
    command_seconds: float  # from typing the command to its end
    cpu_seconds: float  # of the command, on all cores together
    confirmations: list[Confirmation] = field(default_factory=list)
    clears: dict[str, int] = field(default_factory=dict)
    curve: list[Point] = field(default_factory=list)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Clearing":
        moments = {
            name: None if plain[name] is None else Moment(**plain[name])
            for name in ("first_clear", "half", "most", "end")
        }
        confirmations = [Confirmation(**each) for each in plain["confirmations"]]
        curve = [Point(*each) for each in plain["curve"]]
        return cls(**{**plain, **moments, "confirmations": confirmations, "curve": curve})


def measure_clearing(seed: int, folder: Path, flags: Sequence[str], *, evaluates: bool) -> Clearing:
    """Trains with `mario train` and evaluates with `mario eval`, as a user would."""
    name = f"seed{seed}"
    run = ["--seed", str(seed), "--run-name", name, "--save-dir", str(folder), "--fresh"]
    quiet = ["--metrics-interval", _METRICS_SECONDS, "--no-final-evaluation", "--quiet"]
    started, began, cpu_before = time.time(), time.monotonic(), _cpu_seconds_of_children()
    _mario("train", *run, *quiet, *flags)
    times = CommandTimes(started, time.monotonic() - began, _cpu_seconds_of_children() - cpu_before)
    clears = _evaluate(folder, name, flags) if evaluates else {}
    return read_clearing(seed, folder / name, times, clears)


def read_clearing(seed: int, run_dir: Path, times: CommandTimes, clears: dict[str, int]) -> Clearing:
    records = read_records(run_dir / "metrics.jsonl")
    ended = json.loads((run_dir / "run.json").read_text())
    confirmations = [each for each in LineReader(run_dir / "evaluations.jsonl") if each["kind"] == "confirmation"]
    is_cleared = ended.get("reason") == "cleared" and bool(confirmations)
    first_step = float(records[0]["time"]) - float(records[0]["seconds"])
    # What the last update was measured by is written when all is over, after the fresh episodes that ended the run.
    last = (confirmations[-1] if is_cleared else records[-1])["time"] - first_step

    def moment(record: dict[str, Any]) -> Moment:
        seconds = min(float(record["time"]) - first_step, last)
        return Moment(int(record["global_step"]), round(float(record["seconds"]), 2), round(seconds, 2))

    def first(holds: Callable[[dict[str, Any]], bool]) -> Moment | None:
        return next((moment(each) for each in records if holds(each)), None)

    def is_at(rate: float) -> Callable[[dict[str, Any]], bool]:
        window = ended["config"]["budget"]["clear_window"]
        return lambda each: each["episodes_total"] >= window and each["clear_rate"] >= rate

    return Clearing(
        seed=seed,
        first_clear=first(lambda each: each["clears_total"] > 0),
        half=first(is_at(_HALF)),
        most=first(is_at(_MOST)),
        end=moment(confirmations[-1] if is_cleared else records[-1]),
        reason=str(ended.get("reason")),
        setup_seconds=round(first_step - times.started, 2),
        command_seconds=round(times.seconds, 2),
        cpu_seconds=round(times.cpu_seconds, 1),
        confirmations=[_confirmation(each) for each in confirmations],
        clears=clears,
        curve=[
            Point(int(each["global_step"]), moment(each).seconds, float(each["clear_rate"] or 0.0)) for each in records
        ],
    )


def make_table(clearings: Sequence[Clearing]) -> str:
    """Markdown, with the medians below."""
    moments_of = ("first clear", "50 %", "95 %", "end of the run")
    titles = ("seed", *moments_of, "fresh episodes cleared", "CPU time", "whole command", f"{', '.join(MODES)} of 100")
    lines = [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    for each in clearings:
        moments = [_moment(moment) for moment in (each.first_clear, each.half, each.most, each.end)]
        reason = "" if each.reason == "cleared" else f" ({each.reason})"
        confirmations = ", ".join(confirmation.text for confirmation in each.confirmations) or "-"
        clears = ", ".join(str(count) for count in each.clears.values()) or "-"
        lines.append(
            f"| {each.seed} | {' | '.join(moments)}{reason} | {confirmations} | {each.cpu_seconds:.0f} s | "
            f"{each.command_seconds:.1f} s | {clears} |"
        )
    steps, seconds = median(each.end.steps for each in clearings), median(each.end.seconds for each in clearings)
    cpu, command = (median(getattr(each, name) for each in clearings) for name in ("cpu_seconds", "command_seconds"))
    lines.append(f"| median | | | | {_moment(Moment(int(steps), 0.0, seconds))} | | {cpu:.0f} s | {command:.1f} s | |")
    return "\n".join(lines) + "\n"


def _moment(moment: Moment | None) -> str:
    return "-" if moment is None else f"{moment.seconds:.1f} s, {moment.steps / 1e6:.2f} M steps"


def _confirmation(record: dict[str, Any]) -> Confirmation:
    clears = sum(each["num_clears"] for each in record["summaries"])
    episodes = sum(each["num_episodes"] for each in record["summaries"])
    return Confirmation(int(record["global_step"]), clears, episodes)


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _evaluate(folder: Path, name: str, flags: Sequence[str]) -> dict[str, int]:
    result = folder / f"{name}.json"
    own = [word for flag in ("--rom", "--cache-dir", "--device") for word in _with_value(flag, flags)]
    episodes = ["--mode", "all", "--episodes", str(_EVALUATED_EPISODES), "--json", str(result)]
    _mario("eval", "--checkpoint", str(folder / name), *episodes, *own)
    return {each["mode"]: each["num_clears"] for each in json.loads(result.read_text())["summaries"]}


def _with_value(flag: str, flags: Sequence[str]) -> Sequence[str]:
    return flags[flags.index(flag) : flags.index(flag) + 2] if flag in flags else ()


def _mario(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "mario_a3c", *words], check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in (ExitCode.DONE, ExitCode.STOPPED):
        raise SetupError(f"`mario {' '.join(words)}` ended with {done.returncode}; what it said is above")
