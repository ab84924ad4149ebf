"""What every batch of environments offers, whatever is played in it: the game, or a small task of the tests."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mario_a3c.native.bindings import EndReason, EpisodeRecord
from mario_a3c.stateful import State

__all__ = ["EPISODE_DTYPE", "Bools", "EndReason", "EnvBatch", "Floats", "Pixels", "Seeds"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]
Seeds = int | Sequence[int] | npt.NDArray[np.int64]


EPISODE_DTYPE: np.dtype[Any] = np.dtype(EpisodeRecord)
"""`mario_episode` of the console's header: total_reward, progress, num_steps, num_frames, number, start, level,
end_reason (an EndReason)."""


class EnvBatch(Protocol):
    """N environments stepped together, into arrays that are made once and written in place:

    | array                | dtype   | shape        | meaning                                                       |
    | -------------------- | ------- | ------------ | ------------------------------------------------------------- |
    | `observations`       | uint8   | [N, C, H, W] | the last C frames, the newest last                            |
    | `rewards`            | float32 | [N]          | of the last step                                              |
    | `terminated`         | bool    | [N]          | the episode ended by itself: no value beyond                  |
    | `truncated`          | bool    | [N]          | it was cut short: bootstrap from `final_observations`         |
    | `stuck`              | bool    | [N]          | a sticky step: what was asked for was not done                |
    | `final_observations` | uint8   | [N, C, H, W] | where it ended, the last observation of that episode          |
    | `episodes`           | record  | [N]          | EPISODE_DTYPE: the running episode                            |
    | `final_episodes`     | record  | [N]          | where it ended, the episode that did                          |

    An episode that ends is followed by the next in the same step: `observations` then shows the beginning of the new
    one, all C frames of it the first. Actions are integers in [0, num_actions).
    """

    num_envs: int
    num_actions: int
    observations: Pixels
    rewards: Floats
    terminated: Bools
    truncated: Bools
    stuck: Bools
    final_observations: Pixels
    episodes: npt.NDArray[Any]
    final_episodes: npt.NDArray[Any]

    def reset(self, *, seed: Seeds | None = None, mask: Bools | None = None) -> None:
        """Begins new episodes, everywhere or where `mask` holds.

        `seed` is one per environment; a single one, s, means s, s + 1, s + 2... Seeding starts the count of episodes
        again; without it the next episode follows.
        """
        ...

    def step(self, actions: npt.NDArray[Any], observations: Pixels | None = None) -> None:
        """One step of every environment. `observations` is written instead of `self.observations` where it is given.

        With single frames (C = 1) its shape may also be [N, H, W].
        """
        ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...

    def close(self) -> None: ...
