"""`mario replay`: plays recordings again and says how they end. `mario play --replay` shows one in a window."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import GameArguments
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(GameArguments):
    """Play recordings, as `mario explore` and `mario play` write them, without a window, and say how they end."""

    recordings: tuple[Path, ...] = option((), "files to play", positional=True)
    png: Path | None = option(None, "write the last screen of the last one to this file")


def main(argv: Sequence[str]) -> int:
    """Exit code 3 where one of them does not lead to the end that was recorded."""
    arguments = parse_command(Arguments, argv, prog="mario replay")
    if not arguments.recordings:
        raise ConfigError("name at least one recording; `mario explore` and `mario play --record` write them")
    from mario_a3c.envs.play import replay, story
    from mario_a3c.envs.png import write_png
    from mario_a3c.envs.recording import Recording
    from mario_a3c.native.console import Console
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import start_states

    cache = CacheDir.open(arguments.cache)
    rom = locate_rom(arguments.rom, cache)
    states = start_states(rom, cache)
    console = Console(rom.path, arguments.engine.engine, cache=cache, allow_unknown_rom=True)
    num_wrong = 0
    for path in arguments.recordings:
        recording = Recording.load(path)
        if recording.stage not in states:
            raise ConfigError(f"{path} is of stage {recording.stage}, which {rom.title} has not")
        is_same = replay(console, recording, states[recording.stage])
        num_wrong += not is_same
        verdict = "as recorded" if is_same else "NOT as it was recorded"
        print(f"{path}: {'; '.join(story(console, recording.num_frames))}; {verdict}")
    if arguments.png is not None:
        write_png(arguments.png, console.screen())
    return ExitCode.DONE if num_wrong == 0 else ExitCode.ENVIRONMENT
