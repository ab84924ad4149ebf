"""A stage with what a search has reached drawn on it: one panel per area, from first to last visited.

Squares are cells. Those from which the goal was seen run from blue (far from it) to yellow (near it), the others are
grey. The best path is white where the player had control; it begins with a green square and ends with a red one, and
where it leaves or enters a panel (pipes, vines, mazes that send back) a magenta one marks the place.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.exploration.task import PlayedStep, StageTask, play_path
from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.console import Console
from mario_a3c.native.level_picture import LEVEL_HEIGHT, PLAYER_MIDDLE, STATUS_BAR_HEIGHT, level_pictures, stack_panels
from mario_a3c.native.stage_search import NEVER, ActionPath

_CELL = 16
_TOP_MARGIN = 3 * _CELL  # players jump above the screen
_GAP = 8
_FAR, _NEAR = np.array([40, 70, 255.0]), np.array([255, 230, 40.0])
_UNKNOWN = np.array([128, 128, 128.0])
_OPACITY = 0.45
_WHITE, _GREEN, _RED, _MAGENTA, _BLACK = (255, 255, 255), (0, 220, 0), (240, 0, 0), (255, 0, 255), (0, 0, 0)
_NOTHING = 32
_MAX_WALK = 64  # pixels of one step; further apart the game moved the player


@dataclass(frozen=True, slots=True)
class _Visit:
    """Where the player was after a step."""

    room: int
    x: int
    y: int


def draw_exploration(
    task: StageTask, cells: npt.NDArray[Any], path: ActionPath | None, console: Console
) -> npt.NDArray[np.uint8]:
    """[H, W, 3] uint8. `cells` as StageSearch.cells() gives them; the console is used for playing and drawing."""
    visits = _visits(task, path, console) if path is not None else []
    rooms = list(dict.fromkeys([visit.room for visit in visits] + [int(room) for room in cells["room"]]))
    scenery = {each.room: each.picture for each in level_pictures(console, task.start_state)}
    panels = []
    for room in rooms:
        panel = _panel(scenery.get(room), cells[cells["room"] == room])
        _draw_cells(panel, cells[cells["room"] == room], int(cells["remaining_steps"][0]))
        _draw_path(panel, visits, room)
        panels.append(panel)
    return stack_panels(panels, gap=_GAP, background=_NOTHING)


def _visits(task: StageTask, path: ActionPath, console: Console) -> list[_Visit]:
    console.load(task.start_state)
    games = [console.game(), *(step.game for step in _steps(task, path, console))]
    return [_visit(game) for game in games]


def _steps(task: StageTask, path: ActionPath, console: Console) -> list[PlayedStep]:
    return list(play_path(task, path, console))


def _visit(game: GameRecord) -> _Visit:
    x = game.x - 0x10000 if game.x >= 0x8000 else game.x
    y = (game.y_screen - 1) * 256 + game.y_on_screen
    return _Visit(game.room, x + PLAYER_MIDDLE[0], y + PLAYER_MIDDLE[1] - STATUS_BAR_HEIGHT + _TOP_MARGIN)


def _panel(scenery: npt.NDArray[np.uint8] | None, cells: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The scenery with room above it; dark where none is known."""
    columns = cells["x"][cells["x"] < 0x8000 // _CELL]
    width = max(
        int(columns.max()) * _CELL + _CELL if len(columns) else _CELL, 0 if scenery is None else scenery.shape[1]
    )
    panel = np.full((_TOP_MARGIN + LEVEL_HEIGHT, width, 3), _NOTHING, np.uint8)
    if scenery is not None:
        panel[_TOP_MARGIN:, : scenery.shape[1]] = scenery
    return panel


def _draw_cells(panel: npt.NDArray[np.uint8], cells: npt.NDArray[Any], most_steps: int) -> None:
    """Cells that differ in what is not seen (mazes, pipes) lie on each other: the nearest to the goal is drawn last."""
    order = np.argsort(cells["remaining_steps"].astype(np.int64), kind="stable")[::-1]
    drawn: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
    for cell in cells[order]:
        is_known = cell["remaining_steps"] != NEVER
        share = 1.0 - min(1.0, float(cell["remaining_steps"]) / max(1, most_steps))
        drawn[int(cell["x"]), int(cell["y"])] = _FAR + (_NEAR - _FAR) * share if is_known else _UNKNOWN
    for (column, row), colour in drawn.items():
        left = column * _CELL
        top = row * _CELL - 256 + PLAYER_MIDDLE[1] - _CELL // 2 - STATUS_BAR_HEIGHT + _TOP_MARGIN
        square = panel[max(0, top) : max(0, top + _CELL - 1), left : left + _CELL - 1]
        square[...] = (square * (1 - _OPACITY) + colour * _OPACITY).astype(np.uint8)


def _draw_path(panel: npt.NDArray[np.uint8], visits: list[_Visit], room: int) -> None:
    for before, after in itertools.pairwise(visits):
        is_walk = before.room == after.room and abs(after.x - before.x) <= _MAX_WALK
        if is_walk and after.room == room:
            _line(panel, before, after)
        for visit in () if is_walk else (before, after):
            if visit.room == room:
                _square(panel, visit, _MAGENTA)
    for visit, colour in ((visits[0], _GREEN), (visits[-1], _RED)) if visits else ():
        if visit.room == room:
            _square(panel, visit, colour)


def _line(panel: npt.NDArray[np.uint8], one: _Visit, other: _Visit) -> None:
    length = max(abs(other.x - one.x), abs(other.y - one.y), 1)
    xs = np.linspace(one.x, other.x, length + 1).round().astype(int)
    ys = np.linspace(one.y, other.y, length + 1).round().astype(int)
    for colour, shift in ((_BLACK, 1), (_WHITE, 0)):  # a shadow, to be seen on clouds and castles
        inside = (xs >= 0) & (xs < panel.shape[1] - 1) & (ys + shift >= 0) & (ys + shift < panel.shape[0])
        panel[ys[inside] + shift, xs[inside] + shift] = colour


def _square(panel: npt.NDArray[np.uint8], visit: _Visit, colour: tuple[int, int, int]) -> None:
    for size, inner in ((5, _BLACK), (4, colour)):
        top, left = max(0, visit.y - size), max(0, visit.x - size)
        panel[top : max(0, visit.y + size), left : max(0, visit.x + size)] = inner
