"""What each part of learning is worth on the game: `mario train` with one thing changed at a time.

Each variant is a command of its own with the same number of seconds. Its curve is made from what the run wrote. A
variant that fails is noted, and the others go on.
"""

import functools
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.bench.game_runs import GameRun, read_curve
from mario_a3c.bench.game_variants import UPDATES, GameVariant
from mario_a3c.errors import ExitCode

COMMAND = (sys.executable, "-m", "mario_a3c", "train")
_METRICS_SECONDS = "1"
_MOST_SECONDS_AROUND = 900.0  # beside the training itself: imports, ways through all stages, compilation, saving


@dataclass(frozen=True, kw_only=True, slots=True)
class GameAblation:
    """What all variants have in common."""

    base: Sequence[str]
    seconds: float
    runs: Path  # folder of the runs and their logs
    at_once: int = 1  # runs that share the machine
    command: Sequence[str] = COMMAND

    def run_all(
        self, variants: Sequence[GameVariant], seeds: Sequence[int], report: Callable[[str], None]
    ) -> Iterator[list[GameRun]]:
        """All runs so far, after each of them; says after each how long the rest will take."""
        runs: list[GameRun] = []
        started, total = time.monotonic(), len(variants) * len(seeds)
        groups = [variants[at : at + self.at_once] for at in range(0, len(variants), self.at_once)]
        with ThreadPoolExecutor(self.at_once, "ablation") as pool:
            for seed in seeds:  # seeds outside: what is cut off has every variant once
                for group in groups:
                    for number, variant in enumerate(group, len(runs) + 1):
                        flags = shlex.join(variant.flags) or "-"
                        report(f"{number} of {total}: {variant.name}, seed {seed}: {flags}")
                    before = [each.curve[-1].update for each in runs if each.curve and each.seed == seed]
                    run = functools.partial(self.run, seed=seed, num_updates=before[0] if before else None)
                    for ended in pool.map(run, group):
                        runs.append(ended)
                        left = (time.monotonic() - started) / len(runs) * (total - len(runs))
                        report(f"{_outcome(ended)}; {len(runs)} of {total} done, {left / 60:.1f} min left")
                        yield list(runs)

    def run(self, variant: GameVariant, seed: int, *, num_updates: int | None = None) -> GameRun:
        """`num_updates` is what a variant's UPDATES mean."""
        flags = [str(num_updates) if flag == UPDATES else flag for flag in variant.flags]
        if num_updates is None and UPDATES in variant.flags:
            failure = "how many updates a run makes must be known from a variant before it, like base"
            return GameRun(variant.name, list(self.base), list(variant.flags), seed, failure, 0.0, at_once=self.at_once)
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
        return GameRun(variant.name, list(self.base), flags, seed, failure, seconds, curve, self.at_once)

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


def _written_at(run_dir: Path) -> int | None:
    record = run_dir / "run.json"
    return record.stat().st_mtime_ns if record.exists() else None


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
