"""What is known about the game: one record per console, read from its RAM. `mario_native.h` documents every field."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.library import load_library

GAME_DTYPE: np.dtype[Any] = np.dtype(GameRecord)
"""The record as NumPy sees it: numbers are unsigned, claims (`is_...`, `has_...`) are bool."""


def read_game(ram: npt.NDArray[np.uint8]) -> GameRecord:
    """The record of 2,048 bytes of work RAM, from any emulator."""
    memory = np.ascontiguousarray(ram, np.uint8)
    if memory.shape != (2048,):
        raise ValueError(f"work RAM has 2,048 bytes, got an array of shape {memory.shape}")
    record = GameRecord()
    load_library().mario_read_game(memory.ctypes.data, ctypes.byref(record))
    return record
