"""`mario replay`: plays an action log again and says how it ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Play action logs, as `mario explore` writes them, and say how they end."""

    logs: tuple[Path, ...] = option((), "action logs", positional=True)
    png: Path | None = option(None, "write the last screen of the last log to this file")
    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario replay")
    if not arguments.logs:
        raise ConfigError("name at least one action log; `mario explore` writes them")
    from mario_a3c.exploration.png import write_png
    from mario_a3c.native.action_log import ActionLog, play_log
    from mario_a3c.native.console import Console
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import start_states

    cache = CacheDir.open(arguments.cache)
    rom = locate_rom(arguments.rom, cache)
    states = start_states(rom, cache)
    console = Console(rom.path, arguments.engine.engine, cache=cache, allow_unknown_rom=True)
    is_as_said = True
    for path in arguments.logs:
        log = ActionLog.load(path)
        if log.stage not in states:
            raise ConfigError(f"{path} is of stage {log.stage}, which this cartridge has not")
        outcome = "open"
        for game in play_log(console, states[log.stage], log):
            if game.is_stage_clear:
                outcome = "clear"
            elif game.is_losing_life and outcome == "open":
                outcome = "death"
        is_as_said &= outcome == log.outcome
        note = "" if outcome == log.outcome else f" (the log says {log.outcome})"
        print(f"{path}: {log.stage} {outcome}{note} after {log.num_frames} frames, by {log.made_by}")
    if arguments.png is not None:
        write_png(arguments.png, console.screen())
    return ExitCode.DONE if is_as_said else ExitCode.ENVIRONMENT
