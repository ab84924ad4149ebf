"""`mario recompile`: the game's program as native code, made once and kept in the cache."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ExitCode
from mario_a3c.native.config import RomConfig
from mario_a3c.native.engine import Progress, build_engine, find_engine
from mario_a3c.native.rom import locate_rom
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Compile the game's program for this machine, unless that was done before."""

    again: bool = option(False, "compile it even if it is there")
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario recompile")
    cache = CacheDir.open(arguments.cache)
    cartridge = locate_rom(arguments.rom, cache).cartridge
    started = time.monotonic()
    path = None if arguments.again else find_engine(cartridge, cache)
    if path is None:
        try:
            path = build_engine(cartridge, cache, show_progress)
        finally:
            if sys.stderr.isatty():
                print(file=sys.stderr)
        print(f"compiled in {time.monotonic() - started:.1f} s: {path}")
    else:
        print(f"already compiled (checked in {(time.monotonic() - started) * 1e3:.0f} ms): {path}")
    return ExitCode.DONE


def show_progress(progress: Progress) -> None:
    """One line that is written over, where somebody watches."""
    if sys.stderr.isatty():
        line = f"compiled {progress.num_done} of {progress.num_parts} parts, {progress.elapsed_seconds:.0f} s"
        print(f"\r{line}", end="", file=sys.stderr, flush=True)
