"""What was pressed, frame by frame, from the start of a stage: enough to see it again, on any version of this program.

An action log is a JSON file:

    {
      "format": "mario-a3c action log", "version": 1,
      "rom_sha1": "0c49...",                 the cartridge, without its header
      "stage": "1-1",                        from this stage's start state (start_states)
      "frames": [[0, 12], [130, 40]],        buttons, and for how many frames they were held
      "outcome": "clear",                    how it ended: clear, or anything that a player of the log has to say
      "made_by": "mario explore",
      "steps": {                             where an agent chose, else null
        "frame_skip": 4, "skip_idle": true,  as in the environment's options
        "actions": ["noop", "right", ...],
        "choices": [[3, 10], [4, 2]]         index into actions, and for how many steps
      }
    }

`frames` is what is played; `steps` says the same in an agent's words, for learning from it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import RomError, StorageError
from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage

FORMAT, VERSION = "mario-a3c action log", 1
Runs = tuple[tuple[int, int], ...]
"""Values, each with how often it comes in a row."""
_MAX_FRAMES = 60 * 60 * 24 * 60  # a day of play


@dataclass(frozen=True, slots=True)
class StepLog:
    """The same as decisions of an agent."""

    frame_skip: int
    skip_idle: bool
    actions: tuple[str, ...]
    choices: Runs


@dataclass(frozen=True, slots=True)
class ActionLog:
    rom_sha1: str
    stage: Stage
    frames: Runs
    outcome: str
    made_by: str
    steps: StepLog | None = None

    @property
    def num_frames(self) -> int:
        return sum(count for _, count in self.frames)

    def save(self, path: Path) -> None:
        write_durably(path, (json.dumps(_to_json(self)) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> "ActionLog":
        """StorageError where the file cannot be read or is no action log."""
        try:
            return _from_json(json.loads(path.read_bytes()))
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}; name an existing action log") from error
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is no action log ({error}); `mario explore` writes such files") from error


def play_log(console: Console, start_state: bytes, log: ActionLog) -> Iterator[GameRecord]:
    """Plays a log from the stage's start state; yields the game after every frame. The console is left at the end."""
    if console.rom.cartridge.sha1 != log.rom_sha1:
        raise RomError(
            f"the log was made on the cartridge {log.rom_sha1}, this is {console.rom.cartridge.sha1} "
            f"({console.rom.title}); give the right one with --rom"
        )
    console.load(start_state)
    for buttons, count in log.frames:
        for _ in range(count):
            console.run_frame(buttons)
            yield console.game()


def run_lengths(values: Iterable[int]) -> Runs:
    return tuple((int(value), sum(1 for _ in group)) for value, group in groupby(values))


def _to_json(log: ActionLog) -> dict[str, Any]:
    steps = log.steps
    return {
        "format": FORMAT,
        "version": VERSION,
        "rom_sha1": log.rom_sha1,
        "stage": str(log.stage),
        "frames": log.frames,
        "outcome": log.outcome,
        "made_by": log.made_by,
        "steps": None
        if steps is None
        else {
            "frame_skip": steps.frame_skip,
            "skip_idle": steps.skip_idle,
            "actions": steps.actions,
            "choices": steps.choices,
        },
    }


def _from_json(content: Mapping[str, Any]) -> ActionLog:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'its "format" is not "{FORMAT}"')
    if content["version"] != VERSION:
        raise ValueError(f"it has version {content['version']}, this program reads version {VERSION}")
    frames = _runs(content["frames"], 255)
    if sum(count for _, count in frames) > _MAX_FRAMES:
        raise ValueError("it is longer than a day")
    steps = content["steps"]
    return ActionLog(
        rom_sha1=str(content["rom_sha1"]),
        stage=Stage.parse(content["stage"]),
        frames=frames,
        outcome=str(content["outcome"]),
        made_by=str(content["made_by"]),
        steps=None
        if steps is None
        else StepLog(
            int(steps["frame_skip"]),
            bool(steps["skip_idle"]),
            tuple(map(str, steps["actions"])),
            _runs(steps["choices"], len(steps["actions"]) - 1),
        ),
    )


def _runs(content: Any, most: int) -> Runs:
    runs = tuple((int(value), int(count)) for value, count in content)
    if any(not 0 <= value <= most or count < 1 for value, count in runs):
        raise ValueError(f"values must be in [0, {most}], each at least once")
    return runs
