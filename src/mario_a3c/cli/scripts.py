"""What scripts share: how they begin, how they end (a line for people, the exit code of `mario`), flags of searches."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from mario_a3c.cli.main import let_waiting_threads_sleep
from mario_a3c.errors import ExitCode, MarioError


def run_script(name: str, main: Callable[[], int]) -> int:
    let_waiting_threads_sleep()
    try:
        return main()
    except MarioError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


class SearchArguments(NamedTuple):
    """Of a script that trains many times."""

    options: dict[str, Any]  # for its config
    flags: list[str]  # for `mario train`
    dry_run: bool


def parse_search(description: str | None, config: type, argv: Sequence[str] | None) -> SearchArguments:
    """Flags for the fields of a search's config, then those of `mario train` behind `--`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(config):
        flag = f"--{each.name.replace('_', '-')}"
        kind = Path if each.type in (Path, Path | None) else type(each.default)
        choices = ["avg_return", "clear_rate"] if each.name == "objective" else None
        parser.add_argument(
            flag, type=kind, default=each.default, choices=choices, help=f"{each.metadata['help']} ({each.default})"
        )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    arguments = parser.parse_args(argv)
    options = {each.name: getattr(arguments, each.name) for each in fields(config)}
    return SearchArguments(options, arguments.flags, arguments.dry_run)
