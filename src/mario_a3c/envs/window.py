"""A window for people, where there is a display: pygame draws it, and is asked for only here."""

import importlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import SetupError

FRAMES_PER_SECOND = 60
_SCALE = 3


class Window:
    """Shows pictures at the game's speed. Made when the first one comes."""

    def __init__(self, title: str, *, scale: int = _SCALE) -> None:
        self._title = title
        self._scale = scale
        self._pygame: Any = None
        self._surface: Any = None
        self._clock: Any = None

    def show(self, picture: npt.NDArray[np.uint8], *, frames: int = 1) -> None:
        """[H, W, 3]; waits so that `frames` frames of the game take as long as they do for a player."""
        pygame = self._open(picture)
        image = pygame.surfarray.make_surface(np.ascontiguousarray(picture.swapaxes(0, 1)))
        pygame.transform.scale(image, self._surface.get_size(), self._surface)
        pygame.display.flip()
        pygame.event.pump()
        self._clock.tick(FRAMES_PER_SECOND / frames)

    def pressed(self) -> set[str]:
        """Names of the keys that are held down; `quit` where the window was closed."""
        if self._pygame is None:
            return set()
        pygame = self._pygame
        held = pygame.key.get_pressed()
        names = {name for name in KEYS if held[pygame.key.key_code(name)]}
        return names | ({"quit"} if any(pygame.event.get(pygame.QUIT)) else set())

    def close(self) -> None:
        if self._pygame is not None:
            self._pygame.display.quit()
            self._pygame = None

    def _open(self, picture: npt.NDArray[np.uint8]) -> Any:
        if self._pygame is None:
            pygame = load_pygame()
            height, width = picture.shape[:2]
            try:
                pygame.display.init()
                self._surface = pygame.display.set_mode((width * self._scale, height * self._scale))
            except pygame.error as error:
                raise SetupError(
                    f"no window can be opened ({error}): there is no display here; set DISPLAY, or in a program use "
                    "render_mode='rgb_array', which needs none"
                ) from error
            pygame.display.set_caption(self._title)
            self._clock = pygame.time.Clock()
            self._pygame = pygame
        return self._pygame


# The player's own words for the controller.
KEYS = {
    "x": "A",
    "z": "B",
    "return": "start",
    "right shift": "select",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "escape": "quit",
}


def load_pygame() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        return importlib.import_module("pygame")
    except ImportError as error:
        raise SetupError(
            "a window needs the package pygame: `pip install 'mario-a3c[window]'` (or pygame-ce); "
            "a video (`mario eval --video game`) and render_mode='rgb_array' need none"
        ) from error
