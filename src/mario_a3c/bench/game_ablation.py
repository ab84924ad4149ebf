"""What each part of learning is worth on the game: `mario train` with one thing changed at a time.

Each variant is a command of its own with the same number of seconds. Its curve is made from what the run wrote. A
variant that fails is noted, and the others go on.
"""

import json
import shlex
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.reader import LineReader, read_records

# So many updates are never made: rates stay as they begin, and a variant that is slower is not further behind on them.
_NO_SCHEDULE = "--total-updates 8000"
BASE_FLAGS = shlex.split(
    "--stages all --action-set complex --progress map --curriculum both --sticky 0.25 --noop-max 30 " + _NO_SCHEDULE
)
UPDATES = "UPDATES"  # in a variant's flags: as many as the first variant made, for schedules that end with the run
COMMAND = (sys.executable, "-m", "mario_a3c", "train")
_WINDOW = 60  # episodes of a stage that its clear rate and progress are means of
_METRICS_SECONDS = "1"
_MOST_SECONDS_AROUND = 900.0  # beside the training itself: imports, ways through all stages, compilation, saving


@dataclass(frozen=True, slots=True)
class GameVariant:
    """Flags on top of those that all variants have."""

    name: str
    flags: Sequence[str] = ()

    @classmethod
    def parse(cls, text: str) -> "GameVariant":
        """`larger-steps=--lr 1e-3`"""
        name, _, flags = text.partition("=")
        if not name or not flags.startswith("--") or "/" in name:
            raise ConfigError(f"a variant is a name and flags, like 'larger-steps=--lr 1e-3', not {text!r}")
        return cls(name, shlex.split(flags))


def _variants(flags_by_name: dict[str, str]) -> tuple[GameVariant, ...]:
    return tuple(GameVariant(name, shlex.split(flags)) for name, flags in flags_by_name.items())


VARIANTS = _variants(
    {
        "base": "",
        # Where episodes begin, and what they are paid for.
        "own-starts": "--curriculum stages",
        "focus": "--start-order focus",
        "backward": "--start-order backward",
        "no-curriculum": "--curriculum none",
        "position": "--progress position",
        # How it learns.
        "replay": "--per",
        "one-pass": "--epochs 1",
        "gae": "--target gae",
        "one-pass-gae": "--epochs 1 --target gae",
        "no-entropy": "--entropy-beta 0 --entropy-beta-final 0",
        "more-entropy": "--entropy-beta 0.02 --entropy-beta-final 0.02",
        "falling-entropy": "--entropy-beta 0.02 --entropy-beta-final 0.001 --entropy-schedule linear "
        f"--total-updates {UPDATES} --lr-final-share 1",
        # What it is made of.
        "gru": "--recurrent-type gru",
        "lstm": "--recurrent-type lstm",
        "gtrxl": "--recurrent-type gtrxl",
        "nature": "--backbone nature --nature-channels 32 64 64 --hidden-size 512",
        "wide": "--backbone nature --nature-channels 64 128 128 --hidden-size 1024",
        "impala": "--backbone impala --impala-channels 16 32 32 --residual-blocks 2",
        "deep-impala": "--backbone impala --impala-channels 16 32 32 --residual-blocks 4",
        # Noise: in what it sees, and in its weights.
        "shift": "--augment-shift 4",
        "brightness": "--augment-brightness 40",
        "pixel-noise": "--augment-noise 16",
        "parameter-noise": "--parameter-noise 0.5",
        "noisy-linear": "--noisy-linear",
    }
)


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

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "GameRun":
        return cls(**{**plain, "curve": [GamePoint(*each) for each in plain["curve"]]})


@dataclass(frozen=True, kw_only=True, slots=True)
class GameAblation:
    """What all variants have in common."""

    base: Sequence[str]
    seconds: float
    runs: Path  # folder of the runs and their logs
    command: Sequence[str] = COMMAND

    def run_all(
        self, variants: Sequence[GameVariant], seeds: Sequence[int], report: Callable[[str], None]
    ) -> Iterator[list[GameRun]]:
        """All runs so far, after each of them; says after each how long the rest will take."""
        runs: list[GameRun] = []
        started, total = time.monotonic(), len(variants) * len(seeds)
        for seed in seeds:  # seeds outside: what is cut off has every variant once
            for variant in variants:
                report(f"{len(runs) + 1} of {total}: {variant.name}, seed {seed}: {shlex.join(variant.flags) or '-'}")
                before = [each.curve[-1].update for each in runs if each.curve and each.seed == seed]
                runs.append(self.run(variant, seed, num_updates=before[0] if before else None))
                left = (time.monotonic() - started) / len(runs) * (total - len(runs))
                report(f"{_outcome(runs[-1])}; {len(runs)} of {total} done, {left / 60:.1f} min left")
                yield list(runs)

    def run(self, variant: GameVariant, seed: int, *, num_updates: int | None = None) -> GameRun:
        """`num_updates` is what a variant's UPDATES mean."""
        flags = [str(num_updates) if flag == UPDATES else flag for flag in variant.flags]
        if num_updates is None and UPDATES in variant.flags:
            failure = "how many updates a run makes must be known from a variant before it, like base"
            return GameRun(variant.name, list(self.base), list(variant.flags), seed, failure, 0.0)
        self.runs.mkdir(parents=True, exist_ok=True)
        name = f"{variant.name}_seed{seed}"
        folder = self.runs / name
        own = ["--seed", str(seed), "--run-name", name, "--save-dir", str(self.runs), "--fresh"]
        limits = ["--max-seconds", str(self.seconds), "--metrics-interval", _METRICS_SECONDS]
        quiet = ["--no-tensorboard", "--no-final-evaluation", "--display", "lines"]
        began, before = time.monotonic(), _written_at(folder)
        failure = self._train([*self.base, *flags, *own, *limits, *quiet], self.runs / f"{name}.log")
        seconds = round(time.monotonic() - began, 1)
        # A command that failed early leaves what an older one had written.
        curve = read_curve(folder) if _written_at(folder) != before else []
        if not failure and not curve:
            failure = "it wrote no metrics"
        return GameRun(variant.name, list(self.base), flags, seed, failure, seconds, curve)

    def _train(self, flags: Sequence[str], log: Path) -> str:
        """What went wrong, if anything did; what it said is in the log."""
        most = self.seconds + _MOST_SECONDS_AROUND
        with open(log, "wb") as file:
            try:
                done = subprocess.run(
                    [*self.command, *flags], check=False, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    timeout=most,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"no end after {most:.0f} s"
        if done.returncode in (ExitCode.DONE, ExitCode.STOPPED):
            return ""
        return f"exit code {done.returncode}: {last_words(log.read_text(errors='replace'))}"


def last_words(said: str) -> str:
    """The last line, or what stands in the box that a wrong flag is answered with."""
    box = said.rpartition("╭")[2] if said.rstrip().endswith("╯") else ""
    lines = [line.strip("│╰─╮╯ ") for line in (box or said).splitlines()]
    told = [line for line in lines if line and not line.startswith("For full helptext")]
    return " ".join(told[1:] if box else told[-1:]) or "it said nothing"


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
    windows: dict[str, deque[_Ended]] = defaultdict(lambda: deque(maxlen=_WINDOW))
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


def _written_at(run_dir: Path) -> int | None:
    record = run_dir / "run.json"
    return record.stat().st_mtime_ns if record.exists() else None


def write_results(runs: Sequence[GameRun], stem: Path, title: str) -> None:
    """Beside each other: numbers, table and picture. Each is whole at any moment."""
    from mario_a3c.bench.game_ablation_plot import make_plot

    stem.parent.mkdir(parents=True, exist_ok=True)
    numbers = "[\n" + ",\n".join(json.dumps(asdict(each)) for each in runs) + "\n]\n"
    texts = {".json": numbers, ".md": make_table(runs, title), ".svg": make_plot(runs, title)}
    for suffix, text in texts.items():
        write_durably(stem.with_suffix(suffix), text.encode())


def read_results(paths: Sequence[Path]) -> list[GameRun]:
    return [GameRun.from_json(each) for path in paths for each in json.loads(path.read_text())]


def by_variant(runs: Sequence[GameRun]) -> dict[str, list[GameRun]]:
    found: dict[str, list[GameRun]] = {}
    for each in runs:
        found.setdefault(each.variant, []).append(each)
    return found


def make_table(runs: Sequence[GameRun], title: str) -> str:
    """Markdown: where each variant was at the end of its time; of several seeds the median and the range."""
    seeds = ", ".join(map(str, sorted({each.seed for each in runs})))
    base = "; ".join(f"`mario train {each}`" for each in dict.fromkeys(shlex.join(each.base) for each in runs))
    titles = "variant | flags | steps/s | million steps | clear rates | progress | entropy | KL of an update | "
    about = (
        f"{base}, seed {seeds}. Clear rates and progress (shares of the way) are means of the last {_WINDOW} training "
        "episodes from a stage's own start, summed over the stages."
    )
    lines = [title, "", about, "", f"| {titles} |", f"|{' --- |' * len(titles.split('|'))}"]
    for name, mine in by_variant(runs).items():
        ends = [each.curve[-1] for each in mine if each.curve]
        cells = [
            _cell([end.steps / end.seconds for end in ends], "{:,.0f}"),
            _cell([end.steps / 1e6 for end in ends], "{:.2f}"),
            _cell([end.clear_rates for end in ends], "{:.2f}"),
            _cell([end.progress for end in ends], "{:.2f}"),
            _cell([end.entropy for end in ends], "{:.2f}"),
            _cell([end.kl for end in ends], "{:.4f}"),
        ]
        failures = "; ".join(f"seed {each.seed}: {_short(each.failure)}" for each in mine if each.failure)
        flags = f"`{shlex.join(mine[0].flags)}`" if mine[0].flags else ""
        lines.append(f"| {name} | {flags} | {' | '.join(cells)} | {failures} |")
    return "\n".join(lines) + "\n"


def _cell(numbers: Sequence[float | None], text: str) -> str:
    known = [each for each in numbers if each is not None]
    if not known:
        return "-"
    middle = text.format(median(known))
    return middle if len(known) == 1 else f"{middle} ({text.format(min(known))} to {text.format(max(known))})"


def _short(text: str) -> str:
    """For a cell of a table."""
    plain = text.replace("|", "/")
    return plain if len(plain) <= 160 else plain[:159] + "…"


def _outcome(run: GameRun) -> str:
    if not run.curve:
        return f"   failed: {run.failure}"
    end = run.curve[-1]
    progress = "" if end.progress is None else f", progress {end.progress:.2f}"
    failure = f"; failed: {run.failure}" if run.failure else ""
    return (
        f"   clear rates {end.clear_rates:.2f}{progress} after {end.steps / 1e6:.2f} M steps in {end.seconds:.0f} s"
        f"{failure}"
    )
