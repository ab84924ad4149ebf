"""`mario explore`: a way through every stage, in seconds."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import GameArguments
from mario_a3c.config.command_line import parse_command
from mario_a3c.durable_file import write_durably
from mario_a3c.envs.config import ActionSet, MarioEnvConfig
from mario_a3c.errors import ExitCode
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.exploration.explorer import SearchProgress, StageExplorer


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(GameArguments):
    """Search the game itself for a way through its stages, and write what was found."""

    stages: str = option("all", "stages to search, like 1-1,8-4 or 1-1..2-4, or all")
    action_set: ActionSet = option("complex", "what may be pressed: 5, 7 or 12 combinations, or those of --actions")
    actions: tuple[str, ...] = option((), "a custom action set, each like right+A+B; noop presses nothing")
    frame_skip: int = option(4, "frames for which an action is held: one step")
    out: Path = option(Path("output/exploration"), "folder for recordings, pictures and statistics")
    pictures: bool = option(True, "draw each stage with the places reached and the path")
    fresh: bool = option(False, "do not continue from what an earlier search has found")
    search: SearchConfig = section(SearchConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario explore")
    env = MarioEnvConfig(action_set=arguments.action_set, actions=arguments.actions, frame_skip=arguments.frame_skip)
    from mario_a3c.envs.stages import parse_stages
    from mario_a3c.exploration.explorer import StageExplorer
    from mario_a3c.exploration.task import stage_tasks
    from mario_a3c.native.engine import find_engine_for
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import stages_of

    cache = CacheDir.open(arguments.cache)
    rom = locate_rom(arguments.rom, cache)
    tasks = stage_tasks(rom, cache, parse_stages(arguments.stages, stages_of(rom)), env)
    engine_path = find_engine_for(arguments.engine.engine, rom.cartridge, cache)
    rows: list[dict[str, Any]] = []
    started, cpu_started = time.monotonic(), time.process_time()
    num_missing = 0
    for number, task in enumerate(tasks, start=1):
        explorer = StageExplorer(task, arguments.search, cache, engine_path=engine_path, is_fresh=arguments.fresh)
        line = ProgressLine(number, len(tasks), time.monotonic() - started)
        try:
            explorer.run(line.show)
        except KeyboardInterrupt:
            line.end()
            print(f"mario: interrupted; {task.stage} continues from here when it is explored again", file=sys.stderr)
            write_statistics(arguments.out, rows)
            return ExitCode.STOPPED
        line.end()
        num_missing += explorer.path is None
        rows.append(report(explorer, arguments, engine_path))
    write_statistics(arguments.out, rows)
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu_started
    print(
        f"{len(tasks) - num_missing} of {len(tasks)} stages found, {sum(row['frames'] for row in rows):,} frames, "
        f"{seconds:.1f} s ({cpu_seconds:.1f} s of CPU); {arguments.out}"
    )
    return ExitCode.DONE if num_missing == 0 else ExitCode.STOPPED


class ProgressLine:
    """One line that is written over, where somebody watches; else a line now and then."""

    def __init__(self, number: int, num_stages: int, elapsed_seconds: float) -> None:
        self._place = f"{number} of {num_stages}"
        if number > 1:
            self._place += f", about {elapsed_seconds / (number - 1) * (num_stages - number + 1):.0f} s left"
        self._is_watched = sys.stderr.isatty()
        self._next = time.monotonic() + (0 if self._is_watched else 10)

    def show(self, progress: "SearchProgress") -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (0.1 if self._is_watched else 10)
        found = f"{progress.best_steps} steps" if progress.best_steps else "no way yet"
        text = (
            f"[explore] {self._place}: {progress.task.stage}  {progress.num_frames / 1e6:.1f} M frames, "
            f"{progress.num_cells} cells, furthest x {progress.furthest_x}, {progress.num_paths} paths, {found}, "
            f"{progress.num_bytes / 1e6:.0f} MB"
        )
        print(f"\r\033[K{text}" if self._is_watched else text, end="" if self._is_watched else "\n", file=sys.stderr)
        sys.stderr.flush()

    def end(self) -> None:
        if self._is_watched:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def report(explorer: "StageExplorer", arguments: Arguments, engine_path: Path | None) -> dict[str, Any]:
    """Writes the stage's recording and picture, prints its line, and returns its statistics."""
    from mario_a3c.envs.png import write_png
    from mario_a3c.exploration.picture import draw_exploration
    from mario_a3c.exploration.task import record_path
    from mario_a3c.native.console import Console

    task, progress, path = explorer.task, explorer.progress(), explorer.path
    console = Console(task.rom.path, allow_unknown_rom=True)
    console.set_engine(engine_path)
    row: dict[str, Any] = {
        "stage": str(task.stage),
        "is_found": path is not None,
        "steps": progress.best_steps,
        "path_frames": 0,
        "frames": progress.num_frames,
        "frames_to_first_path": explorer.first_goal_frames,
        "seconds": round(progress.seconds, 2),
        "cells": progress.num_cells,
        "paths": progress.num_paths,
        "megabytes": round(progress.num_bytes / 1e6, 1),
    }
    if path is not None:
        recording = record_path(task, path, console, "mario explore")
        row["path_frames"] = recording.num_frames
        recording.save(arguments.out / f"{task.stage}.json")
    if arguments.pictures:
        write_png(arguments.out / f"{task.stage}.png", draw_exploration(task, explorer.search.cells(), path, console))
    result = f"{progress.best_steps} steps, {row['path_frames']} frames" if path is not None else "no way found"
    print(
        f"{task.stage}  {result}; first after {row['frames_to_first_path']:,} of {progress.num_frames:,} frames, "
        f"{progress.seconds:.1f} s, {progress.num_cells} cells",
        flush=True,
    )
    return row


def write_statistics(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Those of other stages that were explored into the same folder before are kept."""
    path = folder / "statistics.json"
    merged: dict[str, dict[str, Any]] = {}
    if path.is_file():
        merged = {row["stage"]: row for row in json.loads(path.read_text())}
    merged.update({row["stage"]: row for row in rows})
    write_durably(path, (json.dumps([merged[stage] for stage in sorted(merged)], indent=2) + "\n").encode())
