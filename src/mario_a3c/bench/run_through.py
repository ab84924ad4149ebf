"""The work that consoles are measured with: Mario runs and jumps through 1-1, from the start to the flag."""

from collections.abc import Iterator

from mario_a3c.errors import SetupError
from mario_a3c.native.console import Console

START = 8
_A, _B, _RIGHT = 1, 2, 128
_RUN, _WALK, _STAND = _RIGHT | _B, _RIGHT, 0

# Work RAM, with its value while the player has control.
_IN_CONTROL = {0x0770: 1, 0x0772: 3, 0x000E: 8}  # mode of operation, task of that mode, state of the player
_BOOT_FRAMES = 40
_MAX_FRAMES_TO_CONTROL = 600

# Buttons and for how many steps of four frames. Found by a search on the European dump; other dumps run at another
# speed, so Mario may die on the way there, which costs a console no less work.
_RUN_THROUGH = (
    *((_RUN, 16), (_RUN | _A, 7), (_RUN, 13), (_RUN | _A, 8), (_RUN, 20), (_RUN | _A, 6), (_RUN, 9), (_RUN | _A, 8)),
    *((_RUN, 20), (_RUN | _A, 5), (_RUN, 19), (_RUN | _A, 4), (_RUN, 9), (_WALK, 10), (_WALK | _A, 7), (_WALK, 7)),
    *((_RUN, 7), (_RUN | _A, 6), (_RUN, 15), (_RUN | _A, 7), (_RUN, 13), (_WALK | _A, 5), (_WALK, 19), (_RUN, 10)),
    *((_RUN | _A, 7), (_RUN, 7), (_STAND, 8), (_A, 8), (_STAND, 8), (_RUN, 18), (_RUN | _A, 2), (_RUN, 17)),
    *((_RUN | _A, 6), (_RUN, 20), (_RUN | _A, 8), (_RUN, 1), (_RUN | _A, 4), (_RUN, 20), (_WALK, 16), (_WALK | _A, 5)),
    *((_WALK, 3), (_RUN, 11), (_RUN | _A, 5), (_RUN, 20), (_RUN | _A, 8), (_RUN, 9), (_RUN | _A, 5), (_RUN, 15)),
    *((_RUN | _A, 3), (_RUN, 20)),
)
STEP_FRAMES = 4
NUM_STEPS = sum(steps for _, steps in _RUN_THROUGH)
NUM_FRAMES = NUM_STEPS * STEP_FRAMES


def run_through() -> Iterator[int]:
    """The buttons of each step of four frames, from the moment the player has control."""
    for buttons, steps in _RUN_THROUGH:
        for _ in range(steps):
            yield buttons


def start_game(console: Console) -> int:
    """Boots, presses start, waits until the player has control; returns how many frames that took."""
    console.run_frame(0, _BOOT_FRAMES)
    console.run_frame(START, 2)
    while any(console.ram[address] != value for address, value in _IN_CONTROL.items()):
        console.run_frame(0)
        if console.frame_count > _MAX_FRAMES_TO_CONTROL:
            raise SetupError("the game did not start when start was pressed; is this ROM Super Mario Bros.?")
    return console.frame_count


def frames_to_control(num_frames: int) -> Iterator[int]:
    """The buttons of each frame that brings another emulator to the same place."""
    yield from (0 for _ in range(_BOOT_FRAMES))
    yield from (START, START)
    yield from (0 for _ in range(num_frames - _BOOT_FRAMES - 2))
