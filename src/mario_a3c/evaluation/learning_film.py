"""Learning, watched: at several moments of one run, several episodes side by side."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import StorageError
from mario_a3c.evaluation.drawing import LETTER_WIDTH, Picture, draw_box, draw_text, rounded
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.film import GAME_FRAMES_PER_SECOND, film_grid
from mario_a3c.native.console import Console
from mario_a3c.video import write_video

FRAMES_PER_SECOND = 30
_STRIP_HEIGHT = 22
_BAR_HEIGHT = 4
_LETTERS = 2
_DARK, _WHITE, _GREEN, _GREY = (24, 24, 32), (255, 255, 255), (40, 200, 80), (70, 70, 80)
_GIF_RATES = (15.0, 10.0, 7.5, 6.0, 5.0, 3.75, 3.0)  # tried from the left until it is small enough


@dataclass(frozen=True, slots=True)
class Moment:
    """How far a run was, and what its agent did then."""

    num_steps: int
    seconds: float
    results: Sequence[EpisodeResult]

    @property
    def caption(self) -> str:
        return f"after {spoken(self.seconds)}, {self.num_steps:,} steps"

    @property
    def score(self) -> str:
        return f"{sum(each.is_clear for each in self.results)}/{len(self.results)} cleared"


def spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def film_learning(
    moments: Sequence[Moment],
    env: MarioEnvConfig,
    make_console: Callable[[], Console],
    start_of: Callable[[EpisodeResult], bytes],
    *,
    columns: int,
    speed: int,
    clip_seconds: float,
) -> Iterator[Picture]:
    """One moment after another, each for `clip_seconds` at most; the last one until every episode has ended."""
    frame_step = speed * GAME_FRAMES_PER_SECOND // FRAMES_PER_SECOND
    for number, moment in enumerate(moments):
        walls = film_grid(moment.results, env, make_console, start_of, frame_step=frame_step, columns=columns)
        is_last = number == len(moments) - 1
        longest = None if is_last else round(clip_seconds * FRAMES_PER_SECOND)
        strip: Picture | None = None
        for wall in itertools.islice(walls, longest):
            if strip is None:
                strip = _strip(moment, moment.seconds / max(moments[-1].seconds, 1e-9), wall.shape[1])
            for column in range(1, columns):
                at = wall.shape[1] // columns * column
                draw_box(wall, at - 1, 0, 2, wall.shape[0], _DARK)
            yield np.concatenate([strip, wall])


def _strip(moment: Moment, share: float, width: int) -> Picture:
    """When it is, how many of these episodes reach the flag, and how much of the run has passed."""
    strip = np.full((_STRIP_HEIGHT, width, 3), _DARK, np.uint8)
    draw_text(strip, 4, 4, moment.caption, _WHITE, _LETTERS)
    draw_text(strip, width - _LETTERS * LETTER_WIDTH * len(moment.score) - 4, 4, moment.score, _GREEN, _LETTERS)
    draw_box(strip, 0, _STRIP_HEIGHT - _BAR_HEIGHT, width, _BAR_HEIGHT, _GREY)
    draw_box(strip, 0, _STRIP_HEIGHT - _BAR_HEIGHT, round(share * width), _BAR_HEIGHT, _GREEN)
    return strip


def write_small_gif(path: Path, pictures: Sequence[Picture], most_bytes: int) -> float:
    """As many pictures a second as fit into a file of this size; how many that are. Colours are rounded to 216."""
    few_colours = [rounded(picture) for picture in pictures]
    for rate in _GIF_RATES:
        write_video(path, _thinned(few_colours, FRAMES_PER_SECOND / rate), frames_per_second=rate)
        if path.stat().st_size <= most_bytes:
            return rate
    size = path.stat().st_size
    path.unlink()
    raise StorageError(
        f"a GIF of {len(pictures)} pictures takes {size / 1e6:.1f} MB at {_GIF_RATES[-1]:g} a second, more than "
        f"{most_bytes / 1e6:g}; show fewer moments or episodes, or shorter clips"
    )


def _thinned(pictures: Sequence[Picture], step: float) -> Iterable[Picture]:
    return (pictures[int(number * step)] for number in range(int(len(pictures) / step)))
