"""Reading a .nes file: the native library checks it, this module names what it is."""

import ctypes
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from mario_a3c.errors import RomError
from mario_a3c.native.bindings import CartridgeInfo
from mario_a3c.native.library import check, load_library

HEADER_BYTES = 16
_MAX_FILE_BYTES = 4 << 20  # as in cartridge.h; only keeps us from reading a disk image into memory


@dataclass(frozen=True, slots=True)
class Cartridge:
    """A checked .nes file. `sha1` leaves the header out, as the lists of known dumps do."""

    file: bytes = field(repr=False)
    prg_rom_bytes: int
    chr_rom_bytes: int
    prg_ram_bytes: int
    has_vertical_mirroring: bool
    sha1: str


def read_cartridge(path: Path) -> Cartridge:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise RomError(
            f"cannot read the ROM {path}: {error.strerror or error}; give another file with --rom"
        ) from error
    try:
        return parse_cartridge(content)
    except RomError as error:
        raise RomError(f"{path} cannot be played: {error}; give another file with --rom") from None


def parse_cartridge(content: bytes) -> Cartridge:
    """Raises RomError with the console's own complaint."""
    library = load_library()
    info = CartridgeInfo()
    check(library, library.mario_read_cartridge(content, len(content), ctypes.byref(info)))
    return Cartridge(
        file=content,
        prg_rom_bytes=info.prg_rom_bytes,
        chr_rom_bytes=info.chr_rom_bytes,
        prg_ram_bytes=info.prg_ram_bytes,
        has_vertical_mirroring=bool(info.vertical_mirroring),
        sha1=hashlib.sha1(content[HEADER_BYTES:], usedforsecurity=False).hexdigest(),
    )
