"""Puts the player anywhere in a stage of the real game: the camera is moved as `level_picture` moves it."""

from collections.abc import Iterator

from mario_a3c.native import Console
from mario_a3c.native.level_picture import _draw_area, _enter, _run_frame_at

SCREEN = 256


def scrolled_states(console: Console, state: bytes, *, step: int = 64) -> Iterator[tuple[int, bytes]]:
    """The left edge of the screen, and the state with the screen there, all along the area in which `state` is."""
    console.load(state)
    picture, _ = _draw_area(console)
    console.load(state)
    last = picture.picture.shape[1] - SCREEN
    for left in range(0, last + 1, 2):
        _run_frame_at(console, left)
        if left % step == 0 or left == last:
            at_edge = console.save()
            stand(console, left + SCREEN // 2, 0x60)
            yield left, console.save()
            console.load(at_edge)


def areas_of(console: Console, state: bytes) -> list[bytes]:
    """A state in each area of a stage: the one it starts in, then those that it leads to."""
    console.load(state)
    _, areas = _draw_area(console)
    states = [state]
    for area in sorted(areas):
        console.load(state)
        _enter(console, area)
        states.append(console.save())
    return states


def stand(console: Console, x: int, y: int) -> None:
    """The player at a pixel of the area, `y` downward from the top of the screen, standing still and in control."""
    console.ram[[0x0E, 0x1D, 0x6D, 0x86, 0xB5, 0xCE, 0x57, 0x9F]] = (8, 0, x >> 8, x & 255, 1, y, 0, 0)


def state_before_end(console: Console, state: bytes) -> bytes:
    """A state in the player's control from which the flag or the axe is touched within a second, without a button."""
    for area in areas_of(console, state):
        try:
            edges = list(scrolled_states(console, area, step=SCREEN))
        except Exception:  # noqa: BLE001 - a room that cannot be drawn has no flag
            continue
        for _, scrolled in reversed(edges[-3:]):
            found = _touch(console, scrolled)
            if found is not None:
                return found
    raise AssertionError("no flag and no axe was found")


def _touch(console: Console, scrolled: bytes) -> bytes | None:
    console.load(scrolled)
    left = console.game().screen_x
    for x in range(left + 8, left + SCREEN - 16, 8):
        for y in (0x50, 0x90):
            console.load(scrolled)
            stand(console, x, y)
            before = console.save()
            if not console.game().has_control:
                continue
            for _ in range(12):
                console.run_frame(0, 2)
                game = console.game()
                if game.is_stage_clear:
                    return before
                if not game.has_control:
                    break
    return None
