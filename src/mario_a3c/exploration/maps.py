"""The map of remaining time, made from what a search has seen; environments take it as their measure of progress."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.progress_map import CELL_DTYPE, NUM_ROWS, ProgressMap, cell_keys, join_maps
from mario_a3c.errors import ConfigError, StorageError
from mario_a3c.exploration.config import SearchConfig, StartConfig
from mario_a3c.exploration.explorer import StageExplorer, explore_stages
from mario_a3c.exploration.path_file import load_path, save_path
from mario_a3c.exploration.task import StageTask
from mario_a3c.native.stage_search import NEVER, ActionPath, StageSearch
from mario_a3c.native.start_states import STAGES_PER_WORLD, Stage

LOG = logging.getLogger("mario.explore")

_LEFT_OF_ROOM = 0x8000 // 16
# How ways and maps are made; raise it when that changes, and cached ones are made again.
_VERSION = 2
# A map is looked at for a whole training run: its path is worth some seconds more than one that is only shown. One
# thread for each stage, several stages at once: runs that depend on it are then the same on every machine.
MAP_SEARCH = SearchConfig(threads=1, max_frames=20_000_000, polish_frames=StartConfig().way_frames)


@dataclass(frozen=True, slots=True)
class StageWay:
    """A way through a stage, and the map of remaining time around it."""

    task: StageTask
    path: ActionPath
    progress_map: ProgressMap


def obtain_progress_map(
    tasks: Iterable[StageTask], cache: CacheDir, *, config: SearchConfig = MAP_SEARCH, engine_path: Path | None = None
) -> ProgressMap:
    """One map of all these stages, as `obtain_ways` finds them."""
    ways = obtain_ways(tasks, cache, config=config, engine_path=engine_path)
    return join_maps({stage: way.progress_map for stage, way in ways.items()})


def obtain_ways(
    tasks: Iterable[StageTask],
    cache: CacheDir,
    *,
    config: SearchConfig = MAP_SEARCH,
    engine_path: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[Stage, StageWay]:
    """A way through each of these stages: from the cache, or found now, which takes some seconds for each.

    ConfigError where no way through a stage is found within the budget: with other actions there may be none.
    KeyboardInterrupt soon after `should_stop` has become true: ways that were found until then are in the cache.
    """
    tasks = list(tasks)
    ways = {task.stage: way for task in tasks if (way := _load(task, cache, config)) is not None}
    missing = [task for task in tasks if task.stage not in ways]
    if missing:
        ways.update(_find_all(missing, cache, config, engine_path, should_stop))
    return {task.stage: ways[task.stage] for task in tasks}


def _find_all(
    tasks: Sequence[StageTask],
    cache: CacheDir,
    config: SearchConfig,
    engine_path: Path | None,
    should_stop: Callable[[], bool],
) -> dict[Stage, StageWay]:
    LOG.info("looking for a way through %d stages, a few seconds each, once", len(tasks))

    def finish(explorer: StageExplorer) -> StageWay:
        return _keep_way(explorer, cache, config)

    ways = {}
    for way, left in explore_stages(tasks, config, finish, engine_path=engine_path, should_stop=should_stop):
        LOG.info(
            "%s: a way of %d steps, %d places; %s", way.task.stage, len(way.path), len(way.progress_map.cells), left
        )
        ways[way.task.stage] = way
    return ways


def _keep_way(explorer: StageExplorer, cache: CacheDir, config: SearchConfig) -> StageWay:
    task = explorer.task
    if explorer.path is None:
        raise ConfigError(
            f"no way through {task.stage} was found in {explorer.progress().num_frames:,} frames with the actions "
            f"{', '.join(task.actions)}; --action-set complex can do all stages, --progress position needs no map"
        )
    way = StageWay(task, explorer.path, make_map(task, explorer.search))
    map_file, path_file = _files(task, cache, config)
    try:
        way.progress_map.save(map_file)
        save_path(way.path, path_file)
    except StorageError as error:
        LOG.warning("the way will be looked for again next time: %s", error)
    return way


def _load(task: StageTask, cache: CacheDir, config: SearchConfig) -> StageWay | None:
    map_file, path_file = _files(task, cache, config)
    if not (map_file.exists() and path_file.exists()):
        return None
    try:
        return StageWay(task, load_path(path_file, len(task.actions)), ProgressMap.load(map_file))
    except StorageError as error:
        LOG.warning("%s", error)
        return None


def _files(task: StageTask, cache: CacheDir, config: SearchConfig) -> tuple[Path, Path]:
    stem = f"{task.key}-{config.seed}-{config.polish_frames}-v{_VERSION}"
    folder = cache.folder("exploration")
    return folder / f"{stem}.map.npz", folder / f"{stem}.path.npy"


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
