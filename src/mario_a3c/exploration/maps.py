"""The map of remaining time, made from what a search has seen; environments take it as their measure of progress."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.progress_map import CELL_DTYPE, NUM_ROWS, ProgressMap, cell_keys
from mario_a3c.exploration.task import StageTask
from mario_a3c.native.stage_search import NEVER, StageSearch
from mario_a3c.native.start_states import STAGES_PER_WORLD

_LEFT_OF_ROOM = 0x8000 // 16


def make_map(task: StageTask, search: StageSearch) -> ProgressMap:
    """For every cell from which the goal was seen, the frames that the agent has to act for until there.

    Frames without control are not counted: they cost an agent nothing, and it cannot hurry them.
    """
    searched = search.cells()
    searched = searched[searched["remaining_steps"] != NEVER]
    cells = _cells(task, searched)
    frames = (searched["remaining_steps"] * np.uint32(task.frame_skip)).astype(np.uint32)
    # Left of the room all columns are one: of equal cells the one nearest to the goal counts.
    order = np.argsort(frames, kind="stable")
    _, first = np.unique(cell_keys(cells[order]), return_index=True)
    chosen = order[first]
    return ProgressMap(cells[chosen], frames[chosen])


def _cells(task: StageTask, searched: npt.NDArray[Any]) -> npt.NDArray[Any]:
    cells = np.zeros(searched.shape, CELL_DTYPE)
    for name in set(CELL_DTYPE.names or ()) - {"level", "column", "row"}:
        cells[name] = searched[name]
    cells["level"] = (task.stage.world - 1) * STAGES_PER_WORLD + task.stage.number - 1
    cells["column"] = np.where(searched["x"] < _LEFT_OF_ROOM, searched["x"], 0)
    cells["row"] = np.minimum(searched["y"], NUM_ROWS - 1)
    return cells
