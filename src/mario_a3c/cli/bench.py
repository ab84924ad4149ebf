"""`mario bench console|env`: how fast the parts are on this machine."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from mario_a3c.bench.config import BenchConfig
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ExitCode
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import locate_rom
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.bench.console import ConsoleBench
    from mario_a3c.bench.env import EnvBench

_NUM_REFERENCES = 2
# What ratios are taken of: the emulator that people have used for this game.
_YARDSTICK = "nes-py"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Measure frames of the console or steps of the environments, beside those of others where they are installed."""

    subject: Literal["console", "env"] = option("console", "what to measure", positional=True)
    bench: BenchConfig = section(BenchConfig)
    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario bench")
    cache = CacheDir.open(arguments.cache)
    rom = locate_rom(arguments.rom, cache)
    result: ConsoleBench | EnvBench
    if arguments.subject == "env":
        from mario_a3c.bench.env import bench_env

        result = bench_env(arguments.bench, arguments.engine, rom, cache)
    else:
        from mario_a3c.bench.console import bench_console

        result = bench_console(arguments.bench, arguments.engine, rom, cache)
    if arguments.bench.json is not None:
        write_durably(arguments.bench.json, (json.dumps(dataclasses.asdict(result), indent=2) + "\n").encode())
    print(f"{result.machine}, {result.num_cores} cores, Python {result.python}\n{result.rom}\n")
    if arguments.subject == "env":
        print_envs(cast("EnvBench", result))
    else:
        print_console(cast("ConsoleBench", result))
    return ExitCode.DONE


def print_console(result: "ConsoleBench") -> None:
    yardstick = next((speed.frames_per_second for speed in result.speeds if speed.subject == _YARDSTICK), None)
    print(f"| emulator | picture | threads | frames/s | over {_YARDSTICK} |\n| --- | --- | --- | --- | --- |")
    for speed in result.speeds:
        ratio = f"{speed.frames_per_second / yardstick:.1f}x" if yardstick else "not installed"
        print(f"| {speed.subject} | {speed.picture} | {speed.num_threads} | {speed.frames_per_second:,.0f} | {ratio} |")
    times = result.state_times
    print(
        f"\nstate of one console: copy {times.copy_microseconds} us, save {times.save_microseconds} us, "
        f"load {times.load_microseconds} us (called from Python)"
    )


def print_envs(result: "EnvBench") -> None:
    """Ratios are those of one environment of others, with wrappers, in one process."""
    singles = {
        speed.subject.removesuffix(" with wrappers"): speed.steps_per_second
        for speed in result.speeds
        if speed.subject.endswith(" with wrappers")
    }
    head = "".join(f" over {name} |" for name in singles)
    print(f"| environment | number | threads | steps/s |{head}\n| --- | --- | --- | --- |{' --- |' * len(singles)}")
    for speed in result.speeds:
        ratios = "".join(f" {speed.steps_per_second / single:.1f}x |" for single in singles.values())
        row = f"| {speed.subject} | {speed.num_envs} | {speed.num_threads} | {speed.steps_per_second:,.0f} |"
        print(row + ratios)
    print(f"\nPython's share of a step of 256 environments on one thread: {result.python_share:.1%}")
    if len(singles) < _NUM_REFERENCES:
        print("(others are measured where their packages and opencv-python-headless are installed)")
