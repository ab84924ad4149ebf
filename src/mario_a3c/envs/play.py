"""A person at the keyboard, or a recording of one."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.actions import BUTTONS
from mario_a3c.envs.recording import Recording, memory_hash
from mario_a3c.envs.window import KEYS
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage

QUIT = "quit"


class Screen(Protocol):
    """What `Window` is; tests have others."""

    def show(self, picture: npt.NDArray[np.uint8], *, frames: int = 1) -> None: ...

    def pressed(self) -> set[str]: ...


def play(console: Console, stage: Stage, start: bytes, screen: Screen) -> Recording:
    """The game from the start of a stage until the player leaves: arrows, x jumps (A), z runs (B), escape ends it."""
    console.load(start)
    screen.show(console.screen())
    played = []
    while QUIT not in (keys := names_of(screen.pressed())):
        played.append(bits_of(keys))
        console.run_frame(played[-1])
        screen.show(console.screen())
    return Recording.of(console, stage, played)


def replay(console: Console, recording: Recording, start: bytes, screen: Screen | None = None) -> bool:
    """Plays a recording, on a screen where there is one. Whether the game's memory is in the end what it was then."""
    recording.expect_rom(console)
    console.load(start)
    for buttons in recording.buttons():
        console.run_frame(buttons)
        if screen is not None:
            screen.show(console.screen())
            if QUIT in names_of(screen.pressed()):
                break
    return memory_hash(console) == recording.memory


def names_of(keys: set[str]) -> set[str]:
    """What keys mean: buttons of the controller, or `quit`."""
    return {KEYS.get(key, key) for key in keys}


def bits_of(names: set[str]) -> int:
    """Opposite directions at once are no direction: no controller can press them."""
    bits = sum(BUTTONS[name] for name in names)
    for pair in (BUTTONS["left"] | BUTTONS["right"], BUTTONS["up"] | BUTTONS["down"]):
        if bits & pair == pair:
            bits &= ~pair
    return bits


def story(console: Console, num_frames: int) -> Iterator[str]:
    """Where the game stands, in a line or two."""
    game = console.game()
    yield f"{num_frames:,} frames, now in {game.world}-{game.stage} at pixel {game.x}, score {game.score}"
    if game.is_stage_clear:
        yield "the stage is cleared"
