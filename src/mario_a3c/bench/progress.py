"""What progress by map costs beside progress by position: the same play, step by step, in turns."""

import statistics
import time
from dataclasses import dataclass

import numpy as np

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.exploration.maps import obtain_progress_map
from mario_a3c.exploration.task import stage_tasks
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.engine import obtain_engine
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.start_states import Stage

_NUM_ENVS = 16
_WARM_UP_STEPS = 200


@dataclass(frozen=True, slots=True)
class ProgressCost:
    """CPU time of a step of one environment, and how much more it is with the map: the median of all pairs of rounds,
    and the middle 95 % of such medians when pairs are drawn anew."""

    stage: str
    num_pairs: int
    position_microseconds: float
    map_microseconds: float
    extra_percent: float
    extra_percent_low: float
    extra_percent_high: float


def measure_progress(stage: Stage, cache: CacheDir, *, num_pairs: int, num_steps: int) -> ProgressCost:
    """Rounds alternate, so that whatever else the machine does befalls both."""
    progress_map = make_map(stage, cache)
    batches = [make_batch(stage, cache, each) for each in (None, progress_map)]
    seconds: list[list[float]] = [[], []]
    for pair in range(num_pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            seconds[which].append(play_round(batches[which], num_steps, seed=pair))
    steps = num_steps * _NUM_ENVS
    position, by_map = (1e6 * statistics.median(each) / steps for each in seconds)
    ratios = np.array(seconds[1]) / np.array(seconds[0]) - 1.0
    drawn = np.random.default_rng(0).choice(ratios, (2000, num_pairs))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    extra = 100 * np.array([np.median(ratios), low, high])
    return ProgressCost(str(stage), num_pairs, round(position, 3), round(by_map, 3), *extra.round(2).tolist())


def make_map(stage: Stage, cache: CacheDir) -> ProgressMap:
    rom = locate_rom(RomConfig(), cache)
    tasks = stage_tasks(rom, cache, [stage], MarioEnvConfig(action_set="complex"))
    return obtain_progress_map(tasks, cache, engine_path=obtain_engine(rom.cartridge, cache))


def make_batch(stage: Stage, cache: CacheDir, progress_map: ProgressMap | None) -> MarioBatch:
    """Episodes end alike whatever measures progress: with a life, or at the flag."""
    env = MarioEnvConfig(
        world=stage.world,
        stage=stage.number,
        action_set="complex",
        progress="position" if progress_map is None else "map",
        frame_stack=1,
        stall_steps=0,
        max_episode_steps=0,
    )
    config = MarioVectorEnvConfig(num_envs=_NUM_ENVS, num_threads=1, env=env)
    made = MarioBatch(config, engine=EngineConfig(engine="recompiled"), cache=cache, progress_map=progress_map)
    play_round(made, _WARM_UP_STEPS, seed=0)
    return made


def play_round(batch: MarioBatch, num_steps: int, seed: int) -> float:
    """Seconds of CPU for so many steps, mostly to the right."""
    random = np.random.default_rng(seed)
    actions = np.where(random.random((num_steps, _NUM_ENVS)) < 0.7, 4, random.integers(0, 12, (num_steps, _NUM_ENVS)))
    batch.reset(seed=seed)
    started = time.process_time()
    for row in actions:
        batch.step(row)
    return time.process_time() - started
