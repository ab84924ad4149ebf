"""How long it takes from nothing to an agent that clears a stage: several seeds, each a command of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from mario_a3c.errors import ExitCode, SetupError
from mario_a3c.metrics.reader import read_records

_EVALUATED_EPISODES = 100
_LOG_SECONDS = "0.5"  # how exactly moments are known


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was reached: steps of the run, and seconds from its first step."""

    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Clearing:
    """One seed. Moments are of training episodes, sampled; `clears` of fresh ones after it, by mode, of 100 each."""

    seed: int
    first_clear: Moment | None
    half: Moment | None  # of the last --clear-window episodes
    end: Moment
    reason: str  # why the run ended
    command_seconds: float  # from typing the command to its end
    clears: dict[str, int] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)  # seconds, clear rate


def measure_clearing(seed: int, folder: Path, flags: Sequence[str], *, evaluates: bool) -> Clearing:
    """Trains with `mario train` and evaluates with `mario eval`, as a user would."""
    name = f"seed{seed}"
    run = ["--seed", str(seed), "--run-name", name, "--save-dir", str(folder), "--fresh"]
    quiet = ["--log-interval", _LOG_SECONDS, "--no-final-evaluation", "--quiet"]
    started = time.monotonic()
    _mario("train", *run, *quiet, *flags)
    command_seconds = time.monotonic() - started
    clears = _evaluate(folder, name, flags) if evaluates else {}
    return read_clearing(seed, folder / name, command_seconds, clears)


def read_clearing(seed: int, run_dir: Path, command_seconds: float, clears: dict[str, int]) -> Clearing:
    records = read_records(run_dir / "metrics.jsonl")
    ended = json.loads((run_dir / "run.json").read_text())

    def first(holds: Callable[[dict[str, float]], bool]) -> Moment | None:
        found = next((each for each in records if holds(each)), None)
        return None if found is None else Moment(int(found["global_step"]), round(float(found["seconds"]), 2))

    window = ended["config"]["budget"]["clear_window"]
    last = first(lambda each: each is records[-1])
    assert last is not None
    return Clearing(
        seed=seed,
        first_clear=first(lambda each: each["clears_total"] > 0),
        half=first(lambda each: each["episodes_total"] >= window and each["clear_rate"] >= 0.5),
        end=last,
        reason=str(ended.get("reason")),
        command_seconds=round(command_seconds, 2),
        clears=clears,
        curve=[(round(float(each["seconds"]), 2), float(each["clear_rate"] or 0.0)) for each in records],
    )


def make_table(clearings: Sequence[Clearing]) -> str:
    """Markdown, with the medians below."""
    lines = [
        "| seed | first clear | 50 % | end of the run | whole command | greedy, sampled, noop, sticky of 100 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in clearings:
        moments = [_moment(moment) for moment in (each.first_clear, each.half, each.end)]
        clears = ", ".join(str(count) for count in each.clears.values()) or "-"
        reason = "" if each.reason == "cleared" else f" ({each.reason})"
        lines.append(f"| {each.seed} | {' | '.join(moments)}{reason} | {each.command_seconds:.1f} s | {clears} |")
    seconds = median(each.end.seconds for each in clearings)
    steps = median(each.end.steps for each in clearings)
    command = median(each.command_seconds for each in clearings)
    lines.append(f"| median | | | {seconds:.1f} s, {steps / 1e6:.2f} M steps | {command:.1f} s | |")
    return "\n".join(lines) + "\n"


def _moment(moment: Moment | None) -> str:
    return "-" if moment is None else f"{moment.seconds:.1f} s, {moment.steps / 1e6:.2f} M steps"


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
