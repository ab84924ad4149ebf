"""A path as a file of the cache."""

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError
from mario_a3c.native.stage_search import ActionPath


def save_path(path: ActionPath, file: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, path, allow_pickle=False)
    write_durably(file, buffer.getvalue())


def load_path(file: Path, num_actions: int, *, fewest_steps: int = 1) -> ActionPath:
    try:
        path: npt.NDArray[np.uint8] = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise StorageError(f"{file} holds no path ({error}); the stage is explored again") from error
    is_path = path.dtype == np.uint8 and path.ndim == 1 and len(path) >= fewest_steps
    if not is_path or (path >= num_actions).any():
        raise StorageError(f"{file} holds no path of {num_actions} actions; the stage is explored again")
    return path
