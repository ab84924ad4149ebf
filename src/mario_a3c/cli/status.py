"""`mario status`: whether a run lives, stalls or has ended, and how far it is."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Say whether a run lives, stalls or has ended, and how far it is."""

    run: str | None = option(
        None, "the run's folder, or its name below --save-dir; by default the newest", positional=True
    )
    save_dir: Path = option(Path("trained_models"), "folder of all runs")
    plot: bool = option(
        False,
        "draw its curves: curves.png in its folder, or --out; with several stages curves_stages.png, too",
    )
    out: Path | None = option(None, "with --plot: the PNG file")
    json: bool = option(False, "print one JSON object instead")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario status")
    from mario_a3c.metrics.reader import last_record
    from mario_a3c.metrics.stage_grid import stage_grid
    from mario_a3c.metrics.terminal_text import plain
    from mario_a3c.monitoring.health import diagnose

    run = find_run(arguments.run, arguments.save_dir)
    diagnosis, metrics = diagnose(run), last_record(run / "metrics.jsonl")
    if arguments.json:
        found = {"run": str(run), "health": diagnosis.health.value, "reason": diagnosis.reason}
        print(json.dumps({**found, "heartbeat": diagnosis.heartbeat, "metrics": metrics}))
    else:
        print(f"{run}\n{diagnosis.health.value}: {diagnosis.reason}")
        for line in progress_lines(diagnosis.heartbeat or {}, metrics or {}, ProgressUnit.of_run(run)):
            print(line)
        for line in stage_grid(metrics or {}, shutil.get_terminal_size().columns):
            print(line if sys.stdout.isatty() else plain(line).rstrip())
    if arguments.plot:
        plot(run, arguments.out or run / "curves.png")
    return ExitCode.DONE if diagnosis.health.is_well else ExitCode.ENVIRONMENT


def plot(run: Path, target: Path) -> None:
    from mario_a3c.metrics.plot import plot_run, plot_stages

    print(f"curves: {plot_run(run, target)}", file=sys.stderr)
    of_stages = plot_stages(run, target.with_stem(f"{target.stem}_stages"))
    if of_stages is not None:
        print(f"curves of every stage: {of_stages}", file=sys.stderr)


def find_run(named: str | None, save_dir: Path) -> Path:
    if named is not None:
        for candidate in (save_dir / named, Path(named)):
            if candidate.is_dir():
                return candidate
        raise ConfigError(f"there is no run {named!r}, neither below {save_dir} nor as a folder; see `ls {save_dir}`")
    runs = [path.parent for path in save_dir.glob("*/run.json")] if save_dir.is_dir() else []
    if not runs:
        raise ConfigError(f"there is no run in {save_dir}; name one, or say where with --save-dir")
    return max(runs, key=last_sign_of_life)


def last_sign_of_life(run: Path) -> float:
    heartbeat = run / "heartbeat.jsonl"
    return (heartbeat if heartbeat.exists() else run / "run.json").stat().st_mtime


def progress_lines(beat: dict[str, Any], metrics: dict[str, Any], unit: ProgressUnit) -> list[str]:
    """What is known; old records may lack some of it."""
    lines = []
    if beat.get("update") is not None:
        planned = beat.get("num_updates_planned")
        lines.append(
            f"update {beat['update']:,}" + (f" of {planned:,}" if planned else "")
            + f", {beat.get('global_step') or 0:,} steps, start {beat.get('session') or 1}"
        )  # fmt: skip
    shown: dict[str, tuple[str, Callable[[float], str]]] = {
        "clear rate": ("clear_rate", "{:.0%}".format),
        "return": ("avg_return", "{:.2f}".format),
        "furthest": ("furthest_progress", unit.text),
        "steps/s": ("env_steps_per_sec", "{:,.0f}".format),
        "entropy": ("entropy", "{:.3f}".format),
        "memory": ("memory_mb", "{:,.0f} MB".format),
        "GPU": ("gpu_util_mean_window", "{:.0f}%".format),
    }
    known = [f"{title} {text(metrics[name])}" for title, (name, text) in shown.items() if metrics.get(name) is not None]
    if known:
        lines.append(", ".join(known))
    if metrics.get("alerts"):
        lines.append(f"alerts: {', '.join(metrics['alerts'])}")
    return lines
