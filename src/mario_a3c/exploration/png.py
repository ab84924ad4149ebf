"""Pictures as PNG files, in the few lines that this takes."""

import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mario_a3c.durable_file import write_durably

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BIT_RGB = (8, 2, 0, 0, 0)


def write_png(path: Path, picture: npt.NDArray[np.uint8]) -> None:
    """`picture` is [H, W, 3] uint8."""
    height, width, channels = picture.shape
    if channels != 3 or picture.dtype != np.uint8:
        raise ValueError(f"a picture is [H, W, 3] uint8, got {picture.shape} {picture.dtype}")
    # Each line begins with the number of its filter; 0 is none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, width * 3)], axis=1)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, *_EIGHT_BIT_RGB)),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    )
    write_durably(path, _SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
