"""A training whose every rollout has beginnings, ends and cuts of episodes in its middle."""

from typing import Any

import torch

from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.experience.rollout import Rollout
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor

NUM_ENVS = 8


def make_training(recurrent_type: Any = "none", **options: Any) -> ShortTraining:
    """In a corridor so short that episodes begin, end and are cut in the middle of rollouts."""
    envs = Corridor(NUM_ENVS, length=2, frame_stack=1)
    model = make_network(3, recurrent_type=recurrent_type)
    return ShortTraining(envs, model, **{"rollout_steps": 12, "total_updates": 100, **options})


def make_rollout(training: ShortTraining) -> Rollout:
    """The third, which begins in the middle of episodes."""
    for _ in range(3):
        rollout = training.collector.next_rollout()
    assert rollout.episode_starts[1:-1].any()
    assert not rollout.episode_starts[0].all()
    return rollout


def assert_equal_weights(one: dict[str, Any], other: dict[str, Any], *, rtol: float, atol: float) -> None:
    for name, weights in one.items():
        torch.testing.assert_close(weights.detach(), other[name].detach(), rtol=rtol, atol=atol)
