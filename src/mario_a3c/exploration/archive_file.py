"""What a search has reached, as a file: the paths to all cells, from which a search is continued.

States are not kept. Paths are played again instead, their common beginnings once, which takes a second for thousands of
cells; so the file is small, whatever it holds cannot harm the console, and it outlives versions of the console.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError
from mario_a3c.native.stage_search import ActionPath

_VERSION = 1


@dataclass(frozen=True, slots=True)
class SavedArchive:
    """`num_frames` were run to find these paths, `first_goal_frames` of them until the goal was first reached."""

    paths: Sequence[ActionPath]
    num_frames: int
    first_goal_frames: int
    seconds: float

    def save(self, path: Path) -> None:
        ordered = sorted(each.tobytes() for each in self.paths)  # neighbours share their beginnings: it packs well
        counters = {
            "version": _VERSION,
            "num_frames": self.num_frames,
            "first_goal_frames": self.first_goal_frames,
            "seconds": self.seconds,
        }
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            counters=np.array(json.dumps(counters)),
            actions=np.frombuffer(b"".join(ordered), np.uint8),
            lengths=np.array([len(each) for each in ordered], np.uint32),
        )
        write_durably(path, buffer.getvalue(), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> "SavedArchive":
        """StorageError where the file is damaged or of another version; FileNotFoundError where there is none."""
        try:
            # From memory: of a damaged file NumPy leaves the handle open.
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                counters = json.loads(str(file["counters"]))
                actions, lengths = file["actions"], file["lengths"].astype(np.int64)
            paths = _divide(actions, lengths, counters["version"])
            return cls(
                paths, int(counters["num_frames"]), int(counters["first_goal_frames"]), float(counters["seconds"])
            )
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise StorageError(f"{path} holds no archive of a search ({error})") from error


def _divide(actions: npt.NDArray[Any], lengths: npt.NDArray[np.int64], version: int) -> list[ActionPath]:
    if version != _VERSION or lengths.sum() != len(actions) or actions.dtype != np.uint8:
        raise ValueError("its parts do not fit together, or it is of another version")
    return np.split(actions, np.cumsum(lengths)[:-1]) if len(lengths) else []
