"""Which cartridge goes into the console."""

from dataclasses import dataclass
from pathlib import Path

from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class RomConfig:
    """The game's ROM: found or fetched by itself unless a file is named."""

    rom: Path | None = option(None, "play this .nes file instead of looking for one")
    allow_unknown_rom: bool = option(False, "accept a ROM whose hash is not that of a known dump")
