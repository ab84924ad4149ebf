"""The `mario` command: finds the word, parses its flags, runs it, and turns errors into exit codes."""

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mario_a3c import __version__
from mario_a3c.cli.console_log import log_to_stderr
from mario_a3c.errors import ConfigError, ExitCode, MarioError, SetupError, StorageError


@dataclass(frozen=True, slots=True)
class Command:
    """A word of the command line. Its module is imported only when the word is used."""

    name: str
    summary: str

    @property
    def module(self) -> Any:
        return importlib.import_module(f"mario_a3c.cli.{self.name}")


COMMANDS = (
    Command("train", "train an agent; without any option, until it clears 1-1 reliably"),
    Command("status", "say whether a run lives, stalls or has ended, and how far it is"),
    Command("eval", "play episodes with a checkpoint: clear rates under four kinds of play"),
    Command("checkpoint", "list, inspect, check, remove or export what runs have saved"),
    Command("report", "evaluate checkpoints on all stages and write a page about it"),
    Command("demo", "play a tour of stages with the published agents, as a video"),
    Command("watch", "look on while an agent learns"),
    Command("play", "play a stage with the keyboard, and record it"),
    Command("bench", "measure how fast the console and the environments are, beside others"),
    Command("explore", "find a way through every stage by searching the game itself"),
    Command("replay", "play recordings again and say how they end"),
    Command("rom", "find, fetch and check the game's ROM"),
    Command("recompile", "compile the game's program for this machine: frames fourteen times faster"),
    Command("doctor", "check this machine and say what each missing thing costs"),
    Command("cache", "list or clear what is kept in the cache folder"),
)


def main(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    log_to_stderr()
    let_waiting_threads_sleep()
    try:
        try:
            return run_command(argv)
        finally:
            flush_output()
    except MarioError as error:
        print(f"mario: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("mario: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.DONE  # whoever read our output has gone (`mario ... | head`)


def let_waiting_threads_sleep() -> None:
    """Before torch is loaded. Its threads wait for each other by looking again and again: beside another program that
    needs a core, they keep each other from working, and an update takes ten times as long."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def flush_output() -> None:
    """Says now, not at exit, that the output cannot be written: by then nobody can answer."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # What is still buffered must go somewhere, or Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise StorageError(f"the output cannot be written: {error.strerror or error}") from error


def run_command(argv: Sequence[str]) -> int:
    word, *flags = argv or ["--help"]
    if word in ("--help", "-h", "help"):
        print(usage())
        return ExitCode.DONE
    if word in ("--version", "-V"):
        print(f"mario {__version__}")
        return ExitCode.DONE
    command = find_command(word)
    try:
        module = command.module
    except ModuleNotFoundError as error:
        raise SetupError(
            f"the package {error.name} is missing; `{sys.executable} -m pip install -r requirements.txt` installs it, "
            "and PYTHONPATH may name a folder that holds it"
        ) from error
    return int(module.main(flags))


def find_command(word: str) -> Command:
    for command in COMMANDS:
        if command.name == word:
            return command
    if word == "test":
        raise ConfigError("the test suite is run by the launcher in the repository: ./mario test")
    near = difflib.get_close_matches(word, [command.name for command in COMMANDS], n=1)
    raise ConfigError(
        f"unknown command {word!r}; " + (f"perhaps you meant: mario {near[0]}" if near else "see mario --help")
    )


def usage() -> str:
    lines = [f"  {command.name:<10} {command.summary}" for command in COMMANDS]
    return "\n".join(
        [
            f"mario {__version__}: teach an agent to clear Super Mario Bros. from pixels",
            "",
            "usage: mario COMMAND [OPTIONS]",
            "",
            *lines,
            "  test       run the test suite (in the repository: ./mario test [--all])",
            "",
            "`mario COMMAND --help` lists the options of a command.",
        ]
    )


def entry_point() -> None:
    """What the installed `mario` script calls."""
    sys.exit(main(sys.argv[1:]))
