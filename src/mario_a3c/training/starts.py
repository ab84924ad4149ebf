"""Where the episodes of a run begin: the sampler of exploration, put together with the environments and the log."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.envs.mario_batch import MarioBatch, StartState
from mario_a3c.envs.stages import stages_to_play
from mario_a3c.exploration.deaths import SLOTS, DeathWatch
from mario_a3c.exploration.maps import MAP_SEARCH, StageWay, obtain_ways
from mario_a3c.exploration.power_ups import PowerStarts, obtain_power_ups, starts_before
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable, path_starts
from mario_a3c.exploration.task import StageTask, stage_tasks
from mario_a3c.native.console import Console
from mario_a3c.native.engine import find_engine_for
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage
from mario_a3c.training.stopping import StopRequest

LOG = logging.getLogger("mario.curriculum")

_LINE_SECONDS = 30.0


class Ways:
    """Through the stages that are played, when they are first asked for: from the cache, or explored then, which takes
    some seconds for each and is left by KeyboardInterrupt when the run is asked to stop.
    """

    def __init__(self, config: TrainingConfig, cache: CacheDir, stop: StopRequest) -> None:
        self._config, self._cache, self._stop = config, cache, stop

    @cached_property
    def by_stage(self) -> dict[Stage, StageWay]:
        tasks, engine_path = self._to_search
        polish = self._config.starts.way_frames
        search = replace(MAP_SEARCH, max_frames=MAP_SEARCH.max_frames + polish, polish_frames=polish)
        return obtain_ways(
            tasks, self._cache, config=search, engine_path=engine_path, should_stop=lambda: self._stop.is_set
        )

    @cached_property
    def before_power_ups(self) -> dict[Stage, list[StartState]]:
        """Starts shortly before the first mushroom of each stage that has one; none where none are wanted."""
        if not self._config.curriculum.power_starts:
            return {}
        task_of = {task.stage: task for task in self._to_search[0]}
        return {
            stage: starts_before(task_of[stage], path, _console_of(task_of[stage]))
            for stage, path in self.to_power_ups.items()
        }

    @cached_property
    def to_power_ups(self) -> dict[Stage, ActionPath]:
        """The way to the first mushroom of each stage that has one."""
        tasks, engine_path = self._to_search
        return obtain_power_ups(tasks, self._cache, engine_path=engine_path, should_stop=lambda: self._stop.is_set)

    @cached_property
    def _to_search(self) -> tuple[list[StageTask], Path | None]:
        """What the agent faces in its stages, and the engine to search them with."""
        env, cache = self._config.vector_env.env, self._cache
        rom = locate_rom(self._config.rom, cache, game=env.game, graphics=env.graphics)
        tasks = stage_tasks(rom, cache, stages_to_play(env, rom), env)
        return tasks, find_engine_for(self._config.engine.engine, rom.cartridge, cache)


def _console_of(task: StageTask) -> Console:
    return Console(task.rom.path, allow_unknown_rom=True)  # it was looked at when it was located


def begins_along_ways(config: TrainingConfig) -> bool:
    """Whether episodes begin elsewhere than at the start of a stage."""
    return config.curriculum.moves_starts or config.curriculum.power_starts > 0 or any(config.starts.thirds)


def num_starts(config: TrainingConfig, ways: Ways) -> int:
    """How many starts along ways the environments must have room for, and those of their stages."""
    if not begins_along_ways(config):
        return 0
    slots = SLOTS if config.curriculum.death_starts else 0
    before_power_ups = sum(map(len, ways.before_power_ups.values()))
    return len(ways.by_stage) * (1 + config.starts.start_states + slots) + before_power_ups


def make_starts(config: TrainingConfig, ways: Ways, envs: Sequence[EnvBatch]) -> StartSampler | None:
    """The sampler, and the environments at starts of its own; None where each stage is just played from its start."""
    batches = [group for group in envs if isinstance(group, MarioBatch)]
    if not batches or not (begins_along_ways(config) or config.curriculum.weighs_stages):
        return None
    along = {}
    for stage, way in ways.by_stage.items() if begins_along_ways(config) else ():
        along[stage] = path_starts(way.task, way.path, config.starts.start_states, _console_of(way.task))
    table = StartTable.of([batches[0].stage_start(stage) for stage in batches[0].stages], along)
    power = PowerStarts(config.curriculum.power_starts, table.stages, ways.before_power_ups)
    starts = StartSampler(table, config.starts, config.curriculum, power)
    for batch in batches:
        batch.set_starts(starts.starts(), starts.weights().tolist())
        batch.begin_run()
    return starts


def weigh_starts(starts: StartSampler | None, envs: Sequence[EnvBatch]) -> Callable[[], None] | None:
    """What hands the sampler's weights to the environments, from one rollout to the next, and states before deaths from
    the environments to the sampler."""
    if starts is None:
        return None
    batches = [batch for batch in envs if isinstance(batch, MarioBatch)]
    deaths = starts.deaths
    watches = [] if deaths is None else [DeathWatch(batch, deaths) for batch in batches]

    def weigh() -> None:
        for watch in watches:
            watch.look()
        changed = {} if deaths is None else deaths.take_changed()
        weights = starts.weights()
        for batch in batches:
            for slot, state in changed.items():
                batch.replace_start(starts.first_slot + slot, state)
            batch.set_weights(weights)

    return weigh


class ReportStarts:
    """A line about the curricula now and then. A `Task`."""

    def __init__(self, starts: StartSampler | None) -> None:
        self._starts = starts
        self._next = time.monotonic() + _LINE_SECONDS

    def run_if_due(self) -> None:
        if self._starts is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            LOG.info("%s", self._starts)
