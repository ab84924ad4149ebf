"""`mario rom`: where the game's ROM is, fetched the first time."""

from collections.abc import Sequence
from dataclasses import dataclass

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ExitCode
from mario_a3c.native.config import RomConfig
from mario_a3c.native.rom import Rom, locate_rom, open_rom
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Find the game's ROM, fetch it when it is not here yet, check it, and say what it is."""

    path: bool = option(False, "print the path and nothing else")
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario rom")
    config = arguments.rom
    if config.rom is not None:
        rom = open_rom(config.rom, allow_unknown=config.allow_unknown_rom)
    else:
        rom = locate_rom(config, CacheDir.open(arguments.cache))
    print(rom.path if arguments.path else describe(rom))
    return ExitCode.DONE


def describe(rom: Rom) -> str:
    cartridge = rom.cartridge
    tiles = f"{cartridge.chr_rom_bytes // 1024} KB of tiles" if cartridge.chr_rom_bytes else "8 KB of RAM for tiles"
    mirroring = "vertical" if cartridge.has_vertical_mirroring else "horizontal"
    return "\n".join(
        [
            f"game    {rom.title}",
            f"path    {rom.path}",
            f"from    {rom.source}",
            f"board   NROM, {cartridge.prg_rom_bytes // 1024} KB of program, {tiles}, {mirroring} mirroring",
            f"sha1    {cartridge.sha1} (without the header)",
        ]
    )
