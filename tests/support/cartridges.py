"""Home-made cartridges: real enough for every check, and nobody's property."""

import hashlib
from pathlib import Path

# Sets the stack up, lets every vertical blank interrupt, and waits. The interrupt counts frames and reads the
# controller, A first, into these addresses.
FRAMES, BUTTONS = 0x10, 0x11
PROGRAM = bytes.fromhex(
    "78 D8 A2 FF 9A A9 80 8D 00 20 4C 0A 80"  # $8000: SEI CLD LDX #$FF TXS LDA #$80 STA $2000, then JMP to itself
    "E6 10 A9 01 8D 16 40 A9 00 8D 16 40"  # $800D: INC $10, strobe the controller
    "A2 08 AD 16 40 4A 26 11 CA D0 F7 40"  # $8019: eight times LDA $4016 LSR ROL $11 DEX BNE, then RTI
)
VECTORS = bytes.fromhex("0D 80 00 80 00 80")  # NMI $800D, reset $8000, IRQ $8000


def make_program_cartridge(program: bytes = PROGRAM, vectors: bytes = VECTORS, *, fill: int = 0xEA) -> bytes:
    """A cartridge that runs `program` from $8000."""
    file = bytearray(make_cartridge(fill=fill))
    file[16 : 16 + len(program)] = program
    file[16 + 0x7FFA : 16 + 0x8000] = vectors
    return bytes(file)


def make_cartridge(*, prg_units: int = 2, chr_units: int = 1, flags: bytes = b"\x01", fill: int = 0xEA) -> bytes:
    """A .nes file whose program is `fill` throughout. `flags` are header bytes 6 and up."""
    header = b"NES\x1a" + bytes([prg_units, chr_units]) + flags.ljust(10, b"\0")
    return header + bytes([fill]) * (prg_units * 16384 + chr_units * 8192)


def write_cartridge(path: Path, *, fill: int = 0xEA) -> Path:
    path.write_bytes(make_cartridge(fill=fill))
    return path


def sha1_of(file: bytes) -> str:
    return hashlib.sha1(file[16:]).hexdigest()
