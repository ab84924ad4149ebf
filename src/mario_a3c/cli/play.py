"""`mario play`: a person plays a stage with the keyboard, and can record it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import GameArguments
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode, StorageError
from mario_a3c.native.rom import locate_rom
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(GameArguments):
    """Play with the keyboard: arrows, x jumps (A), z runs (B), return is start, escape ends it."""

    world: int = option(1, "world of the stage to begin with")
    stage: int = option(1, "stage within the world, 1 to 4")
    record: Path | None = option(None, "write what was played to this file")
    replay: Path | None = option(None, "show a recording instead of playing")
    headless: bool = option(False, "with --replay: without a window, only whether it leads to the same end")
    scale: int = option(3, "size of a pixel of the game on the screen")

    def __post_init__(self) -> None:
        if not (1 <= self.world <= 8 and 1 <= self.stage <= 4):
            raise ConfigError(f"--world {self.world} --stage {self.stage}: the first is 1-1, the last 8-4")
        if not 1 <= self.scale <= 10:
            raise ConfigError(f"--scale must be in [1, 10], got {self.scale}")
        if self.headless and self.replay is None:
            raise ConfigError("--headless belongs to --replay: nobody can play without a window")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario play")
    from mario_a3c.envs.play import play, replay, story
    from mario_a3c.envs.recording import Recording
    from mario_a3c.envs.window import Window
    from mario_a3c.native.console import Console
    from mario_a3c.native.start_states import Stage, start_states

    cache = CacheDir.open(arguments.cache)
    rom = locate_rom(arguments.rom, cache)
    recording = None if arguments.replay is None else Recording.load(arguments.replay)
    stage = Stage(arguments.world, arguments.stage) if recording is None else recording.stage
    starts = start_states(rom, cache)
    if stage not in starts:
        raise ConfigError(f"{rom.title} has no stage {stage}")
    console = Console(rom.path, engine=arguments.engine.engine, cache=cache, allow_unknown_rom=True)
    window = None if arguments.headless else Window(f"{rom.title} {stage}", scale=arguments.scale)
    if recording is not None:
        is_same = replay(console, recording, starts[stage], window)
        print(*story(console, recording.num_frames), sep="\n")
        if arguments.headless and not is_same:
            raise StorageError(f"{arguments.replay} does not lead to the end that was recorded")
        return ExitCode.DONE
    assert window is not None
    made = play(console, stage, starts[stage], window)
    print(*story(console, made.num_frames), sep="\n")
    if arguments.record is not None:
        made.save(arguments.record)
        print(f"recorded: {arguments.record}")
    return ExitCode.DONE
