"""A console whose picture is a number."""

from typing import Any

import numpy as np


class CountingConsole:
    """Shows how many frames were run since the start."""

    def __init__(self) -> None:
        self.num_frames = 0

    def load(self, start: bytes) -> None:
        self.num_frames = 0

    def run_frame(self, pressed: int) -> None:
        self.num_frames += 1

    def screen(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return np.full((240, 256, 3), self.num_frames % 251, np.uint8)
