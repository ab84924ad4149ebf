"""What somebody played: a stage and the buttons of every frame. It outlives versions of the console; states do not."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import RomError, StorageError
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage

_FORMAT = "mario-a3c recording 1"
_MAX_FRAMES = 60 * 60 * 60 * 10  # ten hours


@dataclass(frozen=True, slots=True)
class Recording:
    """`held[i]` are buttons and for how many frames they were held. `memory` is a hash of RAM after the last frame."""

    rom_sha1: str
    stage: Stage
    held: tuple[tuple[int, int], ...]
    memory: str

    @classmethod
    def of(cls, console: Console, stage: Stage, buttons: Iterable[int]) -> "Recording":
        """Of a console that has played these frames from the start of the stage."""
        held = tuple((pressed, len(list(frames))) for pressed, frames in groupby(buttons))
        return cls(console.rom.cartridge.sha1, stage, held, memory_hash(console))

    @property
    def num_frames(self) -> int:
        return sum(frames for _, frames in self.held)

    def buttons(self) -> Iterator[int]:
        """Frame by frame."""
        for pressed, frames in self.held:
            for _ in range(frames):
                yield pressed

    def expect_rom(self, console: Console) -> None:
        if console.rom.cartridge.sha1 != self.rom_sha1:
            raise RomError(
                f"this was played on the ROM with SHA-1 {self.rom_sha1}, here is {console.rom.title} "
                f"({console.rom.cartridge.sha1}); name the other with --rom"
            )

    def save(self, path: Path) -> None:
        plain = {
            "format": _FORMAT,
            "rom_sha1": self.rom_sha1,
            "stage": str(self.stage),
            "memory": self.memory,
            "held": self.held,
        }
        write_durably(path, (json.dumps(plain) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> "Recording":
        try:
            recording = cls._parse(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path} cannot be read as a recording: {error}") from error
        if recording.num_frames > _MAX_FRAMES:
            raise StorageError(f"{path} has {recording.num_frames:,} frames, more than ten hours")
        return recording

    @classmethod
    def _parse(cls, plain: dict[str, Any]) -> "Recording":
        if plain["format"] != _FORMAT:
            raise ValueError(f"its format is {plain['format']!r}, expected {_FORMAT!r}")
        held = tuple((int(pressed), int(frames)) for pressed, frames in plain["held"])
        if any(not (0 <= pressed <= 255 and frames > 0) for pressed, frames in held):
            raise ValueError("buttons are in [0, 255], and held for at least one frame")
        return cls(str(plain["rom_sha1"]), Stage.parse(plain["stage"]), held, str(plain["memory"]))


def memory_hash(console: Console) -> str:
    return hashlib.sha256(console.ram.tobytes()).hexdigest()
