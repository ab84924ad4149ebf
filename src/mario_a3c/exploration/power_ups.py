"""Where a stage has its first mushroom, and starts shortly before it.

Whoever is tall survives a hit, but an agent that is sure of its way does not stop for a mushroom. From a few steps
before one it is taken by chance; then from further away, and in the end from the start of the stage.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.errors import StorageError
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.curriculum import ClearRate, Counts
from mario_a3c.exploration.explorer import StageExplorer, explore_stages
from mario_a3c.exploration.path_file import load_path, save_path
from mario_a3c.exploration.task import StageTask, play_path
from mario_a3c.native.bindings import Goal
from mario_a3c.native.console import Console
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage
from mario_a3c.stateful import State

LOG = logging.getLogger("mario.explore")

# Five seconds of a core for most stages. Where nothing is found in so many frames there is none, or none for an agent:
# 5-4 needs 12 million, seven stages have none.
POWER_SEARCH = SearchConfig(threads=1, max_frames=16_000_000, polish_frames=2_000_000)
_NUM_STARTS = 32  # of each stage
_STEPS_MORE = 64  # than the way to it takes: the search's is the fastest, to wait until it comes down is easier
_NEAR = 2  # starts on each side: from one to the next the mushroom may come out of reach
_START_EPISODES = 20  # over which it is measured how often the mushroom is taken


def obtain_power_ups(
    tasks: Iterable[StageTask],
    cache: CacheDir,
    *,
    config: SearchConfig = POWER_SEARCH,
    engine_path: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[Stage, ActionPath]:
    """The way to the nearest mushroom, for those of these stages that have one: from the cache, or found now."""
    tasks = [replace(task, goal=Goal.POWER_UP) for task in tasks]
    paths = {task.stage: path for task in tasks if (path := _load(task, cache, config)) is not None}
    missing = [task for task in tasks if task.stage not in paths]
    if missing:
        LOG.info("looking for a mushroom in %d stages, some seconds each, once", len(missing))

    def finish(explorer: StageExplorer) -> tuple[Stage, ActionPath]:
        path = explorer.path if explorer.path is not None else np.zeros(0, np.uint8)
        try:
            save_path(path, _file(explorer.task, cache, config))
        except StorageError as error:
            LOG.warning("the mushroom will be looked for again next time: %s", error)
        return explorer.task.stage, path

    for (stage, path), left in explore_stages(
        missing, config, finish, engine_path=engine_path, should_stop=should_stop
    ):
        LOG.info("%s: %s; %s", stage, f"a mushroom after {len(path)} steps" if len(path) else "no mushroom", left)
        paths[stage] = path
    return {task.stage: paths[task.stage] for task in tasks if len(paths[task.stage])}


def starts_before(task: StageTask, path: ActionPath, console: Console) -> list[StartState]:
    """The start of the stage and states along the path in which the player has control, closer together towards the
    mushroom; for excerpts that end soon after it, so that many are played."""
    steps_left = len(path) * np.linspace(1.0, 0.0, _NUM_STARTS, endpoint=False) ** 2
    wanted = {len(path) - round(max(1, left)) for left in steps_left}
    found = []

    def keep(number: int, state: bytes) -> None:
        left = len(path) - number
        name = f"{task.stage}, {left} steps before a mushroom"
        found.append(StartState(task.stage, state, name, excerpt_steps=left + _STEPS_MORE))

    keep(0, task.start_state)
    for number, step in enumerate(play_path(task, path, console), start=1):
        if number in wanted and step.game.has_control:
            keep(number, console.save())
    return found


class PowerStarts:
    """How often episodes begin shortly before a mushroom: more where it is taken sometimes, neither always nor never,
    so from ever further away; and fewer, the more of them take it."""

    def __init__(self, share: float, stages: Sequence[Stage], before: Mapping[Stage, Sequence[StartState]]) -> None:
        """`share` is that of the episodes of a stage which begin there at first."""
        self.starts = [start for stage in stages for start in before.get(stage, ())]
        self.stage = np.array([stages.index(start.stage) for start in self.starts], np.int64)  # [P] of each start
        self._num_of_stage = np.bincount(self.stage)[self.stage]  # [P] starts of the same stage
        self._share = share
        self._rate = ClearRate(len(self.starts), _START_EPISODES)

    def observe(self, start: npt.NDArray[np.int64], has_taken: npt.NDArray[np.bool_]) -> None:
        """Excerpts that have ended, by the number of their start here. [E] each"""
        self._rate.count(start, has_taken)

    def shares(self) -> Counts:
        """How often each is drawn, of the episodes of its stage. [P]"""
        # Episodes that are still missing count as failures: a first lucky one moves little.
        missed = self._mean_of_stage(1.0 - self._rate.clears / self._rate.num_episodes)
        wanted = self._at_the_edge()
        shares: Counts = self._share * missed * wanted / (self._mean_of_stage(wanted) * self._num_of_stage)
        return shares

    def _at_the_edge(self) -> Counts:
        """Large where starts nearby are between always and never; small, not 0, elsewhere. [P]"""
        rate = (self._rate.clears + 1.0) / (self._rate.tries + 2.0)
        near = np.arange(-_NEAR, _NEAR + 1) + np.arange(len(rate))[:, None]
        is_near = (near >= 0) & (near < len(rate))
        near = np.where(is_near, near, 0)
        is_near &= self.stage[near] == self.stage[:, None]
        smooth = (rate[near] * is_near).sum(1) / is_near.sum(1)
        edge: Counts = (smooth * (1.0 - smooth)) ** 2
        return edge

    def _mean_of_stage(self, numbers: Counts) -> Counts:
        """[P] -> [P]"""
        mean: Counts = np.bincount(self.stage, numbers)[self.stage] / self._num_of_stage
        return mean

    def state(self) -> State:
        return self._rate.state()

    def restore(self, state: State) -> None:
        if len(state["tries"]) == len(self.starts):  # with other starts: nothing is known yet
            self._rate.restore(state)


def _load(task: StageTask, cache: CacheDir, config: SearchConfig) -> ActionPath | None:
    """Empty where none was found."""
    file = _file(task, cache, config)
    if not file.exists():
        return None
    try:
        return load_path(file, len(task.actions), fewest_steps=0)
    except StorageError as error:
        LOG.warning("%s", error)
        return None


def _file(task: StageTask, cache: CacheDir, config: SearchConfig) -> Path:
    return cache.folder("exploration") / f"{task.key}-{config.seed}-{config.max_frames}-{config.polish_frames}.path.npy"
