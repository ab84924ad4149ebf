"""Which cartridge goes into the console, and what runs it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.options import option

Engine = Literal["auto", "interpreter", "recompiled"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RomConfig:
    """The game's ROM: found or fetched by itself unless a file is named."""

    rom: Path | None = option(None, "play this .nes file instead of looking for one")
    allow_unknown_rom: bool = option(False, "accept a ROM whose hash is not that of a known dump")


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineConfig:
    """What runs the game's program. The states and pictures are the same, byte for byte."""

    engine: Engine = option(
        "auto",
        "recompiled: the program compiled for this machine, about fourteen times faster than the interpreter; "
        "auto: that where it can be had, compiled in the background the first time, else the interpreter",
    )
