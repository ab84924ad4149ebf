"""Pictures of evaluated episodes, played again frame by frame in full colour: alone, with what the agent saw and
thought beside it, or many episodes at once."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mario_a3c.envs.actions import action_names
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.drawing import LETTER_WIDTH, Colour, Picture, draw_border, draw_box, draw_text
from mario_a3c.evaluation.episodes import EpisodeResult, Trace
from mario_a3c.evaluation.replays import held_actions, presses_of
from mario_a3c.native.console import Console
from mario_a3c.native.view import SCREEN_HEIGHT, SCREEN_WIDTH, View

GAME_FRAMES_PER_SECOND = 60
_LAST_FRAMES = 45  # the end stands still for a moment
_PANEL_WIDTH = 100
_INPUT_SIZE = 84
_WHITE, _GREY, _DARK, _CHOSEN, _BAR = (255, 255, 255), (150, 150, 160), (24, 24, 32), (255, 200, 40), (70, 130, 230)
_GREEN, _RED, _ORANGE = (40, 200, 80), (220, 50, 50), (240, 150, 30)


def film_episode(result: EpisodeResult, env: MarioEnvConfig, console: Console, start: bytes) -> Iterator[Picture]:
    """The game as a person would have seen it: [240, 256, 3], 60 a second."""
    console.load(start)
    picture = console.screen()
    for presses in presses_of(result, env):
        for pressed in presses:
            console.run_frame(pressed)
            picture = console.screen()
            yield picture
    yield from [picture] * _LAST_FRAMES


def film_with_overlay(result: EpisodeResult, env: MarioEnvConfig, console: Console, start: bytes) -> Iterator[Picture]:
    """[240, 356, 3]: the game; beside it the newest of the frames that the agent sees, how likely it found each action,
    what it pressed, and what it expected."""
    console.load(start)
    held = held_actions(result, env)
    names = action_names(env)
    picture = None
    for step, presses in enumerate(presses_of(result, env), start=-1):  # the idle frames come first
        if not presses:
            continue
        panel = _panel(result, step, next(held) if step >= 0 else None, names, console.observe(View()))
        for pressed in presses:
            console.run_frame(pressed)
            picture = np.concatenate([console.screen(), panel], axis=1)
            yield picture
    if picture is not None:
        picture = picture.copy()
        draw_text(picture, 80, 110, str(result.end_reason).replace("_", " "), _end_colour(result), scale=4)
        yield from [picture] * _LAST_FRAMES


def _panel(result: EpisodeResult, step: int, held: int | None, names: Sequence[str], seen: Picture) -> Picture:
    panel = np.full((SCREEN_HEIGHT, _PANEL_WIDTH, 3), _DARK, np.uint8)
    left = (_PANEL_WIDTH - _INPUT_SIZE) // 2
    few_greys = seen | 15  # sixteen, so that a GIF can have them all
    panel[left : left + _INPUT_SIZE, left : left + _INPUT_SIZE] = few_greys[..., None]
    spec = result.spec
    draw_text(panel, left, 98, f"{spec.stage} {spec.mode}", _WHITE)
    draw_text(panel, left, 106, f"step {max(step, 0)}", _GREY)
    if step >= 0 and result.trace is not None:
        draw_text(panel, left + 44, 106, f"value {result.trace.values[step]:.1f}", _GREY)
    _draw_actions(panel, left, 118, result.trace, step, held, names)
    return panel


def _draw_actions(
    panel: Picture, x: int, y: int, trace: Trace | None, step: int, held: int | None, names: Sequence[str]
) -> None:
    """One row for each action: its name, and a bar as long as it was likely. What is held is bright."""
    height = min(16, (SCREEN_HEIGHT - y) // max(1, len(names)))
    for action, name in enumerate(names):
        row = y + action * height
        colour: Colour = _CHOSEN if action == held else _GREY
        draw_text(panel, x, row, name.replace("+", " "), colour)
        if trace is not None and step >= 0:
            share = float(trace.probabilities[step, action])
            draw_box(panel, x, row + 6, max(1, round(share * _INPUT_SIZE)), max(1, height - 9), _BAR)
            percent = f"{share:.0%}"
            draw_text(panel, x + _INPUT_SIZE - len(percent) * LETTER_WIDTH, row, percent, colour)


def _end_colour(result: EpisodeResult) -> Colour:
    return _GREEN if result.is_clear else _RED if "death" in str(result.end_reason) else _ORANGE


def film_grid(
    results: Sequence[EpisodeResult],
    env: MarioEnvConfig,
    make_console: Callable[[], Console],
    starts: Callable[[EpisodeResult], bytes],
    *,
    frame_step: int = 2,
    columns: int | None = None,
) -> Iterator[Picture]:
    """Many episodes at once, half as large, every `frame_step`-th frame. One that has ended stays in a frame of green
    (the flag), red (a death) or orange."""
    films = [film_episode(each, env, make_console(), starts(each)) for each in results]
    columns = columns or math.ceil(math.sqrt(len(films)))
    rows = -(-len(films) // columns)
    height, width = SCREEN_HEIGHT // 2, SCREEN_WIDTH // 2
    wall = np.zeros((rows * height, columns * width, 3), np.uint8)
    longest = max(each.num_frames for each in results) + _LAST_FRAMES
    for frame in range(longest):
        is_shown = frame % frame_step == 0 or frame == longest - 1
        for place, (film, result) in enumerate(zip(films, results, strict=True)):
            row, column = divmod(place, columns)
            tile = wall[row * height : (row + 1) * height, column * width : (column + 1) * width]
            picture = next(film, None)
            if picture is not None and (is_shown or frame == result.num_frames - 1):
                tile[:] = _halved(picture)
            if frame >= result.num_frames - 1:
                draw_border(tile, _end_colour(result), 3)
        if is_shown:
            yield wall.copy()


def _halved(picture: Picture) -> Picture:
    """The average of each square of four pixels."""
    wide = picture.astype(np.uint16)
    rows = wide[::2] + wide[1::2]
    return ((rows[:, ::2] + rows[:, 1::2]) >> 2).astype(np.uint8)
