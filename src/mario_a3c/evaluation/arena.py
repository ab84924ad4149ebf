"""Where episodes are played: a group of environments, one for each lane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import Bools, Pixels
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.evaluation.config import NOOP_FRAMES, PROGRESS, STICKY_PROBABILITY, Mode
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage


class Arena(Protocol):
    """Environments of one mode. After a step `ended` says where an episode ended; its records are in the final rows."""

    observations: Pixels  # [N, C, H, W]
    ended: Bools  # [N]
    final_episodes: npt.NDArray[Any]
    final_games: npt.NDArray[Any]

    @property
    def num_frames(self) -> npt.NDArray[np.uint32]:
        """[N]: of the episodes so far."""
        ...

    def begin(self, lanes: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64], stages: Sequence[Stage]) -> None: ...

    def step(self, actions: npt.NDArray[np.int64]) -> None: ...

    def rest(self, lanes: npt.NDArray[np.int64]) -> None:
        """Nobody plays here any more; the steps to come are to cost little."""
        ...

    def close(self) -> None: ...


MakeArena = Callable[[Mode, int], Arena]
"""For a mode and a number of lanes."""


@dataclass(frozen=True, slots=True)
class MarioArenas:
    """Makes arenas of the game."""

    env: MarioEnvConfig
    rom: RomConfig
    engine: EngineConfig
    cache: CacheDir
    num_threads: int = 1
    """Of each arena's consoles; more than one where one group of lanes is all there is."""
    keeps_consoles: bool = False
    """For whoever evaluates again and again: making hundreds of consoles takes as long as playing a short episode."""
    _kept: dict[tuple[Mode, int], list[MarioBatch]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, mode: Mode, num_lanes: int) -> Arena:
        kept = self._kept.setdefault((mode, num_lanes), [])
        try:  # not asked first whether there are any: several threads take them
            batch = kept.pop()
        except IndexError:
            batch = self._make_batch(mode, num_lanes)
        return MarioArena(batch, kept.append if self.keeps_consoles else MarioBatch.close)

    def _make_batch(self, mode: Mode, num_lanes: int) -> MarioBatch:
        config = MarioVectorEnvConfig(num_envs=num_lanes, num_threads=self.num_threads, env=env_of_mode(self.env, mode))
        return MarioBatch(config, rom=self.rom, engine=self.engine, cache=self.cache, autoreset=False, max_starts=1)


def env_of_mode(env: MarioEnvConfig, mode: Mode) -> MarioEnvConfig:
    """The environment that an agent was trained in, from a stage's start to its flag, with only a mode's own noise."""
    return replace(
        env,
        world=1,
        stage=1,
        stage_span=1,
        stages="",
        held_out_stages="",
        random_stage=False,
        one_life=True,
        one_stage=True,
        progress=PROGRESS,
        float_observations=False,
        noop_max=NOOP_FRAMES if mode == "noop" else 0,
        sticky=STICKY_PROBABILITY if mode == "sticky" else 0.0,
        augmentation=AugmentationConfig(),
    )


class MarioArena:
    """The game. Where an episode has ended, the player stands at the start of the stage until the next one begins: left
    alone, the game would go on through lost lives and the screens between, which costs more than an episode."""

    def __init__(self, batch: MarioBatch, on_close: Callable[[MarioBatch], None] = MarioBatch.close) -> None:
        """On consoles that may have been played on before: an episode begins with a reset."""
        self._batch, self._on_close = batch, on_close
        self._states = [batch.starts[0].state] * batch.num_envs
        self.observations = batch.observations
        self.ended: Bools = np.zeros(batch.num_envs, np.bool_)
        self.final_episodes, self.final_games = batch.final_episodes, batch.final_games

    @property
    def num_frames(self) -> npt.NDArray[np.uint32]:
        frames: npt.NDArray[np.uint32] = self._batch.episodes["num_frames"]
        return frames

    def begin(self, lanes: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64], stages: Sequence[Stage]) -> None:
        mask = np.zeros(self._batch.num_envs, np.bool_)
        mask[lanes] = True
        all_seeds = np.zeros(self._batch.num_envs, np.uint64)
        all_seeds[lanes] = seeds
        for lane, stage in zip(lanes.tolist(), stages, strict=True):
            self._states[lane] = self._batch.stage_start(stage).state
        self._batch.reset(mask=mask, seed=all_seeds, state=self._states)  # type: ignore[arg-type]

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        self._batch.step(actions)
        np.logical_or(self._batch.terminated, self._batch.truncated, out=self.ended)

    def rest(self, lanes: npt.NDArray[np.int64]) -> None:
        if len(lanes):
            mask = np.zeros(self._batch.num_envs, np.bool_)
            mask[lanes] = True
            self._batch.reset(mask=mask, state=self._states)

    def close(self) -> None:
        self._on_close(self._batch)
