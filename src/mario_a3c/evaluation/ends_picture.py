"""Where episodes ended, drawn over the level's own picture."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.evaluation.drawing import Colour, Picture, draw_box
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.native.console import Console
from mario_a3c.native.level_picture import PLAYER_MIDDLE, STATUS_BAR_HEIGHT, level_pictures, stack_panels

_RED, _GREEN, _ORANGE, _DARK = (230, 30, 30), (30, 170, 60), (240, 150, 30), (24, 24, 32)
_RADIUS = 6
_OPACITY = 0.55
_BAR_WIDTH, _STRIP_HEIGHT = 16, 48
_GAP = 6


def draw_ends(results: Sequence[EpisodeResult], console: Console, start: bytes) -> Picture:
    """[H, W, 3]: the areas of a stage in which episodes ended, below each how many did so where.

    Deaths are red, flags green, episodes that were cut short orange. The console is used for drawing.
    """
    panels = []
    for number, area in enumerate(level_pictures(console, start)):
        here = [each for each in results if each.room == area.room]
        if here or number == 0:
            panels.append(_panel(area.picture, here))
    return stack_panels(panels, gap=_GAP, background=_DARK)


def _panel(scenery: Picture, results: Sequence[EpisodeResult]) -> Picture:
    strip = np.full((_STRIP_HEIGHT, scenery.shape[1], 3), _DARK, np.uint8)
    panel = np.concatenate([scenery, strip])
    for result in results:
        x = int(np.clip(result.x + PLAYER_MIDDLE[0], 0, scenery.shape[1] - 1))
        y = int(np.clip(result.y + PLAYER_MIDDLE[1] - STATUS_BAR_HEIGHT, 0, scenery.shape[0] - 1))
        _draw_disc(panel[: scenery.shape[0]], x, y, _colour(result))
    _draw_counts(panel, scenery.shape[0], results)
    return panel


def _draw_counts(panel: Picture, top: int, results: Sequence[EpisodeResult]) -> None:
    """Bars: how many ended in each column of the level."""
    num_columns = -(-panel.shape[1] // _BAR_WIDTH)
    columns: dict[Colour, npt.NDArray[np.int64]] = {}
    for result in results:
        counts = columns.setdefault(_colour(result), np.zeros(num_columns, np.int64))
        counts[int(np.clip((result.x + PLAYER_MIDDLE[0]) // _BAR_WIDTH, 0, num_columns - 1))] += 1
    most = max((int(total) for total in sum(columns.values(), np.zeros(num_columns, np.int64))), default=0)
    filled = np.zeros(num_columns)
    for colour, counts in columns.items():
        for column in np.flatnonzero(counts):
            tall = counts[column] / most * (_STRIP_HEIGHT - 4)
            bottom = top + _STRIP_HEIGHT - filled[column]
            draw_box(panel, column * _BAR_WIDTH + 1, round(bottom - tall), _BAR_WIDTH - 2, max(1, round(tall)), colour)
            filled[column] += tall


def _draw_disc(picture: Picture, x: int, y: int, colour: Colour) -> None:
    rows, columns = np.ogrid[: picture.shape[0], : picture.shape[1]]
    top, left = max(0, y - _RADIUS), max(0, x - _RADIUS)
    window = picture[top : y + _RADIUS + 1, left : x + _RADIUS + 1]
    near = (rows[top : y + _RADIUS + 1] - y) ** 2 + (columns[:, left : x + _RADIUS + 1] - x) ** 2 <= _RADIUS**2
    window[near] = (window[near] * (1 - _OPACITY) + np.array(colour) * _OPACITY).astype(np.uint8)


def _colour(result: EpisodeResult) -> Colour:
    if result.is_clear:
        return _GREEN
    return _RED if result.end_reason in (EndReason.DEATH, EndReason.GAME_OVER) else _ORANGE
