"""The map of remaining time, made from what a search has seen; environments take it as their measure of progress."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.progress_map import CELL_DTYPE, NUM_ROWS, ProgressMap, cell_keys, join_maps
from mario_a3c.errors import ConfigError, StorageError
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.explorer import OnProgress, StageExplorer
from mario_a3c.exploration.task import StageTask
from mario_a3c.native.stage_search import NEVER, StageSearch
from mario_a3c.native.start_states import STAGES_PER_WORLD

LOG = logging.getLogger("mario.explore")

_LEFT_OF_ROOM = 0x8000 // 16
# How maps are made; raise it when that changes, and cached ones are made again.
_VERSION = 2
# A map is looked at for a whole training run: its path is worth some seconds more than one that is only shown.
MAP_SEARCH = SearchConfig(polish_frames=800_000)


def obtain_progress_map(
    tasks: Iterable[StageTask],
    cache: CacheDir,
    *,
    config: SearchConfig = MAP_SEARCH,
    engine_path: Path | None = None,
    on_progress: OnProgress | None = None,
) -> ProgressMap:
    """One map of all these stages: from the cache, or made now, which takes some seconds for each.

    ConfigError where no way through a stage is found within the budget: with other actions there may be none.
    """
    return join_maps({task.key: _obtain(task, cache, config, engine_path, on_progress) for task in tasks})


def _obtain(
    task: StageTask, cache: CacheDir, config: SearchConfig, engine_path: Path | None, on_progress: OnProgress | None
) -> ProgressMap:
    path = cache.folder("exploration") / f"{task.key}-{config.seed}-{config.polish_frames}-v{_VERSION}.map.npz"
    if path.exists():
        try:
            return ProgressMap.load(path)
        except StorageError as error:
            LOG.warning("%s", error)
    LOG.info("exploring %s for the map of remaining time (some seconds, once)", task.stage)
    explorer = StageExplorer(task, config, cache, engine_path=engine_path)
    explorer.run(on_progress)
    found = explorer.path
    if found is None:
        raise ConfigError(
            f"no way through {task.stage} was found in {explorer.progress().num_frames:,} frames with the actions "
            f"{', '.join(task.actions)}; --action-set complex can do all stages, --progress position needs no map"
        )
    made = make_map(task, explorer.search)
    try:
        made.save(path)
    except StorageError as error:
        LOG.warning("the map will be made again next time: %s", error)
    LOG.info("%s: %d places, a way of %d steps", task.stage, len(made.cells), len(found))
    return made


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
    return ProgressMap(cells[chosen], frames[chosen], {level_of(task): int(frames[0]) if len(frames) else 1})


def level_of(task: StageTask) -> int:
    """As `games["level"]` has it."""
    return (task.stage.world - 1) * STAGES_PER_WORLD + task.stage.number - 1


def _cells(task: StageTask, searched: npt.NDArray[Any]) -> npt.NDArray[Any]:
    cells = np.zeros(searched.shape, CELL_DTYPE)
    for name in set(CELL_DTYPE.names or ()) - {"level", "column", "row"}:
        cells[name] = searched[name]
    cells["level"] = level_of(task)
    cells["column"] = np.where(searched["x"] < _LEFT_OF_ROOM, searched["x"], 0)
    cells["row"] = np.minimum(searched["y"], NUM_ROWS - 1)
    return cells
