"""Frames to MP4 or GIF, through PyAV: no FFmpeg needs to be installed.

An MP4 is encoded while its frames come. It has another name until it is complete: a file without its end cannot be
played.
"""

import contextlib
import importlib
import importlib.util
import os
import secrets
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import ConfigError, SetupError, StorageError

Picture = npt.NDArray[np.uint8]
"""[H, W, 3] uint8."""

MISSING = "videos need the package av: `pip install 'mario-a3c[video]'` (or `pip install av`)"
_MAX_COLOURS = 256
# Small pictures of few colours: slower presets make files little smaller (measured: 300 frames 0.41 s against 0.81 s).
_X264 = {"preset": "veryfast", "crf": "20", "threads": "1"}


def can_write_videos() -> bool:
    return importlib.util.find_spec("av") is not None


class VideoWriter:
    """Writes pictures of one size. The file is there when it is finished, complete, or not at all."""

    def __init__(self, path: Path, *, frames_per_second: float, scale: int = 1) -> None:
        """`.mp4` (H.264, what every browser plays) or `.gif`; each pixel becomes `scale` x `scale`."""
        if path.suffix not in (".mp4", ".gif"):
            raise ConfigError(f"a video is called .mp4 or .gif, got {path.name}")
        if not 1 <= scale <= 8:
            raise ConfigError(f"a video is scaled by 1 to 8, got {scale}")
        self.path = path
        self.num_frames = 0
        self._av = load_av()
        self._rate, self._scale = frames_per_second, scale
        self._temporary = path.with_name(f".{path.stem[:100]}.{secrets.token_hex(4)}.tmp{path.suffix}")
        self._container: Any = None
        self._stream: Any = None
        self._shape: tuple[int, ...] | None = None
        self._indexed = _IndexedFrames() if path.suffix == ".gif" else None

    def write(self, picture: Picture) -> None:
        if self._shape is None:
            self._shape = picture.shape
        if picture.shape != self._shape or picture.dtype != np.uint8 or picture.ndim != 3:
            raise ValueError(f"a picture of shape {self._shape} was expected, got {picture.dtype} {picture.shape}")
        if self._indexed is not None:
            self._indexed.add(picture.repeat(self._scale, 0).repeat(self._scale, 1))
        else:
            self._encode(self._as_yuv(picture))
        self.num_frames += 1

    def discard(self) -> None:
        """Leaves nothing behind of what is not finished."""
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def finish(self) -> None:
        """Gives the file its name."""
        if self._indexed is not None:
            for indices, palette in self._indexed.frames():
                self._open("gif", "pal8", indices.shape, {})
                self._encode(self._av.VideoFrame.from_ndarray((indices, palette), format="pal8"))
        if self._container is None:
            raise ValueError(f"{self.path} would have no pictures")
        self._encode(None)
        self._container.close()
        try:
            with open(self._temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(self._temporary, self.path)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _as_yuv(self, picture: Picture) -> Any:
        """Scaled by repeating pixels, and in the colours that browsers play."""
        picture = np.ascontiguousarray(_even(picture))
        height, width = (size * self._scale for size in picture.shape[:2])
        self._open("libx264", "yuv420p", (height, width), _X264)
        frame = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        return frame.reformat(width=width, height=height, format="yuv420p", interpolation="POINT")

    def _open(self, codec: str, pixels: str, shape: tuple[int, ...], options: dict[str, str]) -> None:
        if self._container is not None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = {"movflags": "faststart"} if self.path.suffix == ".mp4" else {}
            self._container = self._av.open(str(self._temporary), "w", options=flags)
        except OSError as error:
            raise self._cannot_write(error) from error
        rate = Fraction(self._rate).limit_denominator(1001)
        self._stream = self._container.add_stream(codec, rate=rate, options=options)
        self._stream.height, self._stream.width = shape[:2]
        self._stream.pix_fmt = pixels

    def _encode(self, frame: Any) -> None:
        try:
            for packet in self._stream.encode(frame):
                self._container.mux(packet)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write {self.path}: {error.strerror or error}; choose another place")


class _IndexedFrames:
    """Pictures as indices into the colours they have: the game shows a few dozen, so a GIF loses nothing."""

    def __init__(self) -> None:
        self._colours: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._frames: list[npt.NDArray[np.uint8]] = []

    def add(self, picture: Picture) -> None:
        words = picture.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)  # [H, W]
        new = np.setdiff1d(words, self._colours)
        if len(new):
            self._colours = np.concatenate([self._colours, new])
            if len(self._colours) > _MAX_COLOURS:
                raise ConfigError(f"a GIF has at most {_MAX_COLOURS} colours; write an .mp4 instead")
        order = np.argsort(self._colours)
        self._frames.append(order[np.searchsorted(self._colours[order], words)].astype(np.uint8))

    def frames(self) -> Iterable[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]:
        palette = np.zeros((_MAX_COLOURS, 4), np.uint8)  # alpha, red, green, blue
        palette[:, 0] = 255
        for channel, shift in enumerate((16, 8, 0), start=1):
            palette[: len(self._colours), channel] = self._colours >> shift & 0xFF
        return ((frame, palette) for frame in self._frames)


def write_video(path: Path, pictures: Iterable[Picture], *, frames_per_second: float, scale: int = 1) -> Path:
    """All of them, or no file."""
    writer = VideoWriter(path, frames_per_second=frames_per_second, scale=scale)
    try:
        for picture in pictures:
            writer.write(picture)
        writer.finish()
    finally:
        writer.discard()
    return path


def load_av() -> Any:
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise SetupError(MISSING) from error


def _even(picture: Picture) -> Picture:
    """H.264 with browsers' colours wants even sizes: a last row or column is repeated."""
    height, width = picture.shape[:2]
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), "edge") if height % 2 or width % 2 else picture
