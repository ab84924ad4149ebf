"""What was played: a stage and the buttons of every frame. It outlives versions of the console; states do not.

A recording is a JSON file, written by people (`mario play`), by searches (`mario explore`), and by agents:

    {
      "format": "mario-a3c recording 1",
      "rom_sha1": "0c49...",                 the cartridge, without its header
      "stage": "1-1",                        from this stage's start state
      "held": [[0, 12], [130, 40]],          buttons, and for how many frames they were held
      "memory": "9f86...",                   SHA-256 of the 2,048 bytes of RAM after the last frame
      "made_by": "mario explore",
      "steps": {                             null where nobody chose by steps
        "frame_skip": 4, "skip_idle": true,  as in the environment's options
        "actions": ["noop", "right", ...],
        "choices": [[3, 10], [4, 2]]         index into actions, and for how many steps
      }
    }

`held` is what is played; `steps` says the same in an agent's words, for learning from it.
"""

import dataclasses
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


Runs = tuple[tuple[int, int], ...]
"""Numbers, each with how often it comes in a row."""


@dataclass(frozen=True, slots=True)
class StepChoices:
    """A recording as decisions of an agent."""

    frame_skip: int
    skip_idle: bool
    actions: tuple[str, ...]
    choices: Runs


@dataclass(frozen=True, slots=True)
class Recording:
    """`held[i]` are buttons and for how many frames they were held. `memory` is a hash of RAM after the last frame."""

    rom_sha1: str
    stage: Stage
    held: Runs
    memory: str
    made_by: str = ""
    steps: StepChoices | None = None

    @classmethod
    def of(cls, console: Console, stage: Stage, buttons: Iterable[int]) -> "Recording":
        """Of a console that has played these frames from the start of the stage."""
        return cls(console.rom.cartridge.sha1, stage, runs_of(buttons), memory_hash(console))

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
            "made_by": self.made_by,
            "steps": None if self.steps is None else dataclasses.asdict(self.steps),
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
        return cls(
            rom_sha1=str(plain["rom_sha1"]),
            stage=Stage.parse(plain["stage"]),
            held=held,
            memory=str(plain["memory"]),
            made_by=str(plain.get("made_by", "")),
            steps=None if plain.get("steps") is None else _parse_steps(plain["steps"]),
        )


def _parse_steps(plain: dict[str, Any]) -> StepChoices:
    actions = tuple(map(str, plain["actions"]))
    choices = tuple((int(action), int(steps)) for action, steps in plain["choices"])
    if any(not (0 <= action < len(actions) and steps > 0) for action, steps in choices):
        raise ValueError(f"choices are in [0, {len(actions) - 1}], each for at least one step")
    return StepChoices(int(plain["frame_skip"]), bool(plain["skip_idle"]), actions, choices)


def runs_of(numbers: Iterable[int]) -> Runs:
    return tuple((int(number), len(list(group))) for number, group in groupby(numbers))


def memory_hash(console: Console) -> str:
    return hashlib.sha256(console.ram.tobytes()).hexdigest()
