"""A tour of stages as one film: four at once where there are many, each with who plays and how it ended below it."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.drawing import LETTER_WIDTH, Colour, Picture, draw_box, draw_text
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.replays import presses_of
from mario_a3c.native.console import Console
from mario_a3c.native.view import SCREEN_HEIGHT, SCREEN_WIDTH

FRAMES_PER_SECOND = 30
_GAME_FRAMES = 2  # of the game's sixty a second in one picture, at its own speed
_STRIP_HEIGHT = 24
_TILE_HEIGHT = SCREEN_HEIGHT + _STRIP_HEIGHT
_MARGIN, _LETTERS = 3, 2
_UPPER_LINE, _LOWER_LINE = SCREEN_HEIGHT + 2, SCREEN_HEIGHT + 13
_FEW = 4  # stages that are shown one after another
_WALL = 2  # tiles in a row and in a column, where there are more
_NAMED = FRAMES_PER_SECOND  # pictures with the stage's name in large letters
_HELD = 20  # pictures for which an end stands still
_LAST_CARD = 3 * FRAMES_PER_SECOND
_STAGES_PER_ROW = 4
_WHITE, _GREY, _DARK, _GREEN, _RED = (255, 255, 255), (150, 150, 160), (24, 24, 32), (40, 200, 80), (220, 50, 50)


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode that is shown: the first try that cleared its stage, else the one that came furthest."""

    result: EpisodeResult
    env: MarioEnvConfig
    start: bytes
    player: str  # generalist or specialist, as the caption says it
    num_tries: int  # until this one, or of those that all failed

    @property
    def outcome(self) -> str:
        if self.result.is_clear:
            return f"cleared on try {self.num_tries}"
        return f"not cleared in {self.num_tries} {'try' if self.num_tries == 1 else 'tries'}"

    def num_pictures(self, speed: int) -> int:
        return -(-self.result.num_frames // (_GAME_FRAMES * speed)) + _HELD


@dataclass(frozen=True, slots=True)
class Plan:
    """How scenes are laid out: on how many tiles, how many times as fast as the game, and how long it takes."""

    num_tiles: int
    speed: int
    num_pictures: int

    @property
    def seconds(self) -> float:
        return self.num_pictures / FRAMES_PER_SECOND

    @property
    def scale(self) -> int:
        return 2 if self.num_tiles == 1 else 1


def plan_tour(scenes: Sequence[Scene], max_seconds: float) -> Plan:
    """As slow as fits into `max_seconds`."""
    num_tiles = 1 if len(scenes) <= _FEW else _WALL * _WALL
    for speed in range(1, 64):
        plan = Plan(num_tiles, speed, _length(scenes, num_tiles, speed) + _LAST_CARD)
        if plan.seconds <= max_seconds:
            break
    return plan


def _length(scenes: Sequence[Scene], num_tiles: int, speed: int) -> int:
    """A tile that is free takes the next scene."""
    busy_until = [0] * num_tiles
    for scene in scenes:
        heapq.heapreplace(busy_until, busy_until[0] + scene.num_pictures(speed))
    return max(busy_until)


def film_tour(scenes: Sequence[Scene], plan: Plan, make_console: Callable[[], Console]) -> Iterator[Picture]:
    """Pictures of one size, `FRAMES_PER_SECOND` of them; the last ones are a card of all stages."""
    columns = 1 if plan.num_tiles == 1 else _WALL
    rows = plan.num_tiles // columns
    wall = np.full((rows * _TILE_HEIGHT, columns * SCREEN_WIDTH, 3), _DARK, np.uint8)
    waiting = iter(enumerate(scenes))
    consoles = [make_console() for _ in range(plan.num_tiles)]
    running: list[Iterator[Picture]] = [iter(()) for _ in consoles]
    while True:
        is_over = True
        for place, console in enumerate(consoles):
            picture = next(running[place], None)
            if picture is None and (scene := next(waiting, None)) is not None:
                running[place] = _film_scene(scene[1], f"{scene[0] + 1}/{len(scenes)}", plan.speed, console)
                picture = next(running[place], None)
            if picture is not None:
                row, column = divmod(place, columns)
                left = column * SCREEN_WIDTH
                wall[row * _TILE_HEIGHT : (row + 1) * _TILE_HEIGHT, left : left + SCREEN_WIDTH] = picture
                is_over = False
        if is_over:
            break
        yield wall.copy()
    card = _last_card(scenes, wall.shape[:2])
    yield from [card] * _LAST_CARD


def _film_scene(scene: Scene, number: str, speed: int, console: Console) -> Iterator[Picture]:
    console.load(scene.start)
    tile = np.full((_TILE_HEIGHT, SCREEN_WIDTH, 3), _DARK, np.uint8)
    _caption(tile, scene, number, speed)
    presses = [pressed for step in presses_of(scene.result, scene.env) for pressed in step]
    step = _GAME_FRAMES * speed
    for shown, first in enumerate(range(0, len(presses), step)):
        for pressed in presses[first : first + step]:
            console.run_frame(pressed)
        tile[:SCREEN_HEIGHT] = console.screen()
        if shown < _NAMED:
            _draw_centred(tile, 70, f"world {scene.result.spec.stage}", _WHITE, scale=5)
        yield tile
    words, colour = ("cleared", _GREEN) if scene.result.is_clear else ("not cleared", _RED)
    _draw_centred(tile, 70, words, colour, scale=5)
    draw_box(tile, 0, _LOWER_LINE, SCREEN_WIDTH, _TILE_HEIGHT - _LOWER_LINE, _DARK)
    draw_text(tile, _MARGIN, _LOWER_LINE, scene.outcome, colour, _LETTERS)
    yield from [tile] * _HELD


def _caption(tile: Picture, scene: Scene, number: str, speed: int) -> None:
    """Two lines: who plays which stage, and how."""
    spec = scene.result.spec
    tries = f"try {scene.num_tries}" if scene.result.is_clear else f"best of {scene.num_tries}"
    _draw_line(tile, _UPPER_LINE, f"{spec.stage} {scene.player}", number, _WHITE)
    _draw_line(tile, _LOWER_LINE, f"{spec.mode}, {tries}", f"x{speed}", _GREY)


def _draw_line(tile: Picture, y: int, left: str, right: str, colour: Colour) -> None:
    draw_text(tile, _MARGIN, y, left, colour, _LETTERS)
    draw_text(tile, SCREEN_WIDTH - _LETTERS * LETTER_WIDTH * len(right) - 1, y, right, _GREY, _LETTERS)


def _draw_centred(picture: Picture, y: int, text: str, colour: Colour, *, scale: int) -> None:
    """With a shadow: it is read over any scenery."""
    x = (picture.shape[1] - LETTER_WIDTH * scale * len(text)) // 2
    for shift, shade in ((scale // 3 + 1, (0, 0, 0)), (0, colour)):
        draw_text(picture, max(0, x + shift), y + shift, text, shade, scale)


def _last_card(scenes: Sequence[Scene], shape: tuple[int, ...]) -> Picture:
    """Every stage, green where it was cleared."""
    card = np.full((*shape[:2], 3), _DARK, np.uint8)
    num_cleared = sum(scene.result.is_clear for scene in scenes)
    _draw_centred(card, 16, f"{num_cleared} of {len(scenes)} cleared", _WHITE, scale=3 if shape[1] < 400 else 4)
    rows = -(-len(scenes) // _STAGES_PER_ROW)
    height = min(56, (shape[0] - 60) // max(1, rows))
    width = shape[1] // _STAGES_PER_ROW
    for place, scene in enumerate(scenes):
        row, column = divmod(place, _STAGES_PER_ROW)
        colour = _GREEN if scene.result.is_clear else _RED
        x, y = column * width + 4, 52 + row * height
        draw_box(card, x, y, width - 8, height - 4, colour)
        draw_text(card, x + 8, y + height // 2 - 10, str(scene.result.spec.stage), _WHITE, 3)
    return card
