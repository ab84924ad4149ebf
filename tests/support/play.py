"""Somebody at the controller who presses whatever comes to mind, the same again for the same seed."""

import numpy as np
import numpy.typing as npt

GAME_MODE = 0x0770  # work RAM: 0 on the title screen
A, B, SELECT, START, UP, DOWN, LEFT, RIGHT = (1 << bit for bit in range(8))
_PLAYING = (RIGHT, RIGHT | A, RIGHT | B, RIGHT | A | B, LEFT, A, 0, DOWN, RIGHT | B, RIGHT | A | B, RIGHT | A)


class RandomPlay:
    """Holds buttons for up to 30 frames; starts the game from the title screen."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._frames_left = 0
        self._buttons = 0

    def next_buttons(self, ram: npt.NDArray[np.uint8]) -> int:
        if self._frames_left == 0:
            self._frames_left = int(self._rng.integers(1, 30))
            self._buttons = int(self._rng.choice((0, START) if ram[GAME_MODE] == 0 else _PLAYING))
        self._frames_left -= 1
        return self._buttons
