"""Where episodes may begin: at the start of a stage, or at states along a way through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.mario_batch import StartState
from mario_a3c.exploration.task import StageTask, play_path
from mario_a3c.native.console import Console
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage

_STANDS = 0  # of a game's motion
_STEPS_FROM_GOAL = (6, 12, 24)


@dataclass(frozen=True, slots=True)
class StartTable:
    """All starts of a run: of each stage its own start, then states towards its goal. Their numbers never change."""

    starts: tuple[StartState, ...]
    stages: tuple[Stage, ...]
    stage: npt.NDArray[np.int64]  # [S] of each start, an index of `stages`
    share: npt.NDArray[np.float64]  # [S] of the way that lies behind: 0 at the start of the stage

    @classmethod
    def of(cls, stage_starts: Sequence[StartState], along: Mapping[Stage, Sequence[StartState]]) -> "StartTable":
        starts: list[StartState] = []
        stage, share = [], []
        for number, first in enumerate(stage_starts):
            rest = list(along.get(first.stage, ()))
            starts += [first, *rest]
            stage += [number] * (1 + len(rest))
            share += [0.0, *(each.share for each in rest)]
        return cls(tuple(starts), tuple(each.stage for each in stage_starts), np.array(stage), np.array(share))

    @property
    def first(self) -> npt.NDArray[np.int64]:
        """The number of each stage's own start. [stages]"""
        return np.searchsorted(self.stage, np.arange(len(self.stages)))

    @property
    def position(self) -> npt.NDArray[np.int64]:
        """0 at the start of the stage, 1 at the next start on its way, and so on. [S]"""
        return np.arange(len(self.stage)) - self.first[self.stage]


def path_starts(task: StageTask, path: ActionPath, num_states: int, console: Console) -> list[StartState]:
    """`num_states` states in which the player has control, evenly along the path; named like "8-4 at 0.52".

    The last three are a few steps from the goal: from there chance must be able to reach it. Near each place one is
    taken in which the player stands, if there is one: from the middle of a jump little can be decided. The console is
    used for playing. The path is one of the agent's own actions and steps, so it could be copied.
    """
    has_control, stands = _looks(task, path, console)
    num_even = num_states - len(_STEPS_FROM_GOAL)
    spacing = len(path) / (num_even + 1)
    wanted: set[int] = set()
    for place in [*(len(path) - np.array(_STEPS_FROM_GOAL)), *(np.arange(num_even, 0, -1) * spacing)]:
        free = [step for step in np.flatnonzero(has_control).tolist() if step not in wanted]
        near = [step for step in free if stands[step] and abs(step - place) <= min(spacing, _STEPS_FROM_GOAL[0]) / 2]
        wanted.update(sorted(near or free, key=lambda step: abs(step - place))[:1])
    found = []
    for number, _ in enumerate(play_path(task, path, console), start=1):
        if number in wanted:
            share = number / len(path)
            found.append(StartState(task.stage, console.save(), f"{task.stage} at {share:.2f}", share))
    return found


def _looks(task: StageTask, path: ActionPath, console: Console) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """By step, from 0 (the start, which is never chosen) on: whether the player has control, and stands. [L + 1]"""
    games = [step.game for step in play_path(task, path, console)]
    has_control = np.array([False, *(bool(game.has_control) for game in games)])
    return has_control, has_control & np.array([False, *(game.motion == _STANDS for game in games)])
