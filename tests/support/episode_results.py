"""Results of episodes that nobody played."""

import numpy as np

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.evaluation.config import Mode
from mario_a3c.evaluation.episodes import EpisodeResult, EpisodeSpec
from mario_a3c.native.start_states import Stage


def result_of(mode: Mode = "sampled", number: int = 0, *, is_clear: bool = True, steps: int = 10) -> EpisodeResult:
    end = EndReason.FLAG if is_clear else EndReason.DEATH
    nothing = np.zeros(steps, np.uint8)
    return EpisodeResult(
        EpisodeSpec(Stage(1, 1), mode, number), 0, 2.0, 100.0, steps, 4 * steps, end, 300, 0, 0, 1, 50, 60,
        nothing, nothing.astype(np.uint16),
    )  # fmt: skip


def series(mode: Mode, num_clears: int, num_episodes: int) -> list[EpisodeResult]:
    return [result_of(mode, n, is_clear=n < num_clears) for n in range(num_episodes)]
