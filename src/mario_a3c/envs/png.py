"""Pictures as PNG files, without another library."""

import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mario_a3c.durable_file import write_durably

_GREY, _RGB = 0, 2


def write_png(path: Path | str, picture: npt.NDArray[np.uint8]) -> None:
    """[H, W] grey or [H, W, 3] in colour, uint8."""
    is_rgb = picture.ndim == 3 and picture.shape[-1] == 3
    if picture.dtype != np.uint8 or not (is_rgb or picture.ndim == 2) or picture.size == 0:
        raise ValueError(f"a picture is uint8 [H, W] or [H, W, 3], got {picture.dtype} {picture.shape}")
    height, width = picture.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB if is_rgb else _GREY, 0, 0, 0)
    rows = picture.reshape(height, -1)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # each row begins with its filter: none
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes())), (b"IEND", b""))
    write_durably(Path(path), b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
