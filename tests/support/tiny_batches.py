"""How environments of the home-made game of `tiny_game` are played."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.mario_batch import MarioBatch
from tests.support import tiny_game

ACTIONS = ("noop", "right", "left", "A", "B", "up", "down", "select")
NOOP, RIGHT, LEFT, THROW, SCORE, PIPE, DIE, WARP = range(len(ACTIONS))
WALK = 4 * tiny_game.WALK  # pixels in a step
MakeBatch = Callable[..., MarioBatch]


def play(batch: MarioBatch, *actions: int) -> None:
    for action in actions:
        batch.step(np.full(batch.num_envs, action))


def random_actions(batch: MarioBatch, num_steps: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Mostly to the right, and everything else now and then."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, batch.num_actions, (num_steps, batch.num_envs))
    return np.where(rng.random(actions.shape) < 0.7, RIGHT, actions)
