"""Where episodes may begin: states along a way through the stage, for curricula that begin near the goal."""

from collections.abc import Mapping, Sequence

import numpy as np

from mario_a3c.envs.mario_batch import StartState
from mario_a3c.exploration.config import StartConfig
from mario_a3c.exploration.task import StageTask, play_path
from mario_a3c.native.console import Console
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage

THIRDS = ("early", "middle", "late")


def path_starts(task: StageTask, path: ActionPath, num_states: int, console: Console) -> list[StartState]:
    """`num_states` states in which the player has control, evenly along the path; named like "8-4 middle 0.52".

    The console is used for playing. The path is one of the agent's own actions and steps, so it could be copied.
    """
    wanted = set(np.linspace(0, len(path), num_states + 2).round().astype(int)[1:-1].tolist())
    found = []
    for number, step in enumerate(play_path(task, path, console), start=1):
        if number in wanted and step.game.has_control:
            share = number / len(path)
            third = THIRDS[min(2, int(share * 3))]
            found.append(StartState(task.stage, console.save(), f"{task.stage} {third} {share:.2f}"))
    return found


def mix_starts(
    stage_starts: Sequence[StartState], along: Mapping[Stage, Sequence[StartState]], config: StartConfig
) -> tuple[list[StartState], list[float]]:
    """Starts and weights for `MarioBatch.set_starts`: every stage as often as the others, and within a stage each third
    of its path as often as the config says, the rest from the stage's own start."""
    starts: list[StartState] = []
    weights: list[float] = []
    for stage_start in stage_starts:
        left = 1.0
        for third in THIRDS:
            share = config.share_of(third)
            group = [each for each in along.get(stage_start.stage, ()) if each.name.split()[1] == third]
            if group and share > 0:
                starts += group
                weights += [share / len(group)] * len(group)
                left -= share
        starts.append(stage_start)
        weights.append(max(0.0, left))
    return starts, weights
