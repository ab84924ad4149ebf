"""PNG files, read back by the letter of the format."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.png import write_png


@pytest.mark.parametrize("shape", [(3, 5), (240, 256, 3), (1, 1)])
def test_a_picture_survives(tmp_path: Path, shape: tuple[int, ...]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    write_png(tmp_path / "picture.png", picture)
    file = (tmp_path / "picture.png").read_bytes()
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(file):
        (length,) = struct.unpack_from(">I", file, at)
        name, content = file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", file, at + 8 + length) == (zlib.crc32(name + content),)
        chunks[name] = content
        at += 12 + length
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (height, width, depth, colour) == (shape[0], shape[1], 8, 2 if len(shape) == 3 else 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    assert (rows[:, 1:].reshape(shape) == picture).all()
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    wrongs: list[Any] = [np.zeros((2, 2)), np.zeros((2, 2, 4), np.uint8), np.zeros((0, 4), np.uint8)]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="a picture is uint8"):
            write_png(tmp_path / "wrong.png", wrong)
