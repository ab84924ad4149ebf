"""`mario eval` and `python test.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import SetupError


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Play episodes with a checkpoint and report how often the stage is cleared."""


def main(argv: Sequence[str]) -> NoReturn:
    parse_command(Arguments, argv, prog="mario eval")
    raise SetupError("this version cannot evaluate yet: there are no checkpoints to read (docs/ROADMAP.md)")
