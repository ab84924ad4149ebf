"""What disks and people do to files."""

import os
from pathlib import Path


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def last_byte_lost(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def grown(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"\0")


def one_bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def filled_with_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def made_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (cut_short, emptied, last_byte_lost, grown, one_bit_flipped, filled_with_zeros, made_unreadable)
