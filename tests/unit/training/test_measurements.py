"""What a run's metrics say of its last episodes."""

import numpy as np

from mario_a3c.envs.env_batch import EPISODE_DTYPE, EndReason
from mario_a3c.training.measurements import episode_fields
from mario_a3c.training.progress import Progress


def test_clears_and_mushrooms_are_counted_for_each_stage() -> None:
    progress = Progress(clear_window=4)
    episodes = np.zeros(7, EPISODE_DTYPE)
    episodes["level"] = [0, 0, 0, 0, 0, 5, 5]
    episodes["end_reason"][[0, 3, 5]] = EndReason.FLAG
    episodes["num_power_ups"] = [1, 0, 2, 0, 1, 0, 1]
    progress.record(100, episodes)
    fields = episode_fields(progress)
    assert fields["clear_rate_by_stage"] == {"1-1": 0.25, "2-2": 0.5}, "of the last four of 1-1"
    assert fields["power_up_rate_by_stage"] == {"1-1": 0.5, "2-2": 0.5}, "a second one in an episode does not count"
