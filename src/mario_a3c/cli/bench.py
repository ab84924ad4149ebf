"""`mario bench console`: how fast the parts are on this machine."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mario_a3c.bench.config import BenchConfig
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ExitCode
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import locate_rom
from mario_a3c.options import option, section

# What ratios are taken of: the emulator that people have used for this game.
_YARDSTICK = "nes-py"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Measure the console's frames per second, beside other emulators where they are installed."""

    subject: Literal["console"] = option("console", "what to measure", positional=True)
    bench: BenchConfig = section(BenchConfig)
    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario bench")
    from mario_a3c.bench.console import bench_console

    cache = CacheDir.open(arguments.cache)
    result = bench_console(arguments.bench, arguments.engine, locate_rom(arguments.rom, cache), cache)
    if arguments.bench.json is not None:
        write_durably(arguments.bench.json, (json.dumps(dataclasses.asdict(result), indent=2) + "\n").encode())
    print(f"{result.machine}, {result.num_cores} cores, Python {result.python}\n{result.rom}\n")
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
    return ExitCode.DONE
