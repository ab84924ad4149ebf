"""What keeps every action possible while the policy becomes sure of others."""

import pytest
import torch

from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.learning.config import LearnerConfig
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]

UPDATES = 60


def least_probability(training: ShortTraining) -> float:
    """Of any action at any step of the next rollout."""
    rollout = training.collector.next_rollout()
    with torch.no_grad():
        output = training.model.unroll(rollout.observations(), rollout.episode_starts, dict(rollout.state))
    return float(output.logits.softmax(-1).min())


def make_training(floor_beta: float, floor_beta_final: float) -> ShortTraining:
    config = LearnerConfig(
        lr=5e-3, entropy_beta=0.005, entropy_beta_final=0.005, floor_beta=floor_beta, floor_beta_final=floor_beta_final
    )
    envs = Corridor(8, length=4, frame_stack=1)
    return ShortTraining(envs, make_network(3), learner_config=config, total_updates=UPDATES)


def trained(floor_beta: float) -> ShortTraining:
    training = make_training(floor_beta, floor_beta)
    for _ in training.updates(UPDATES):
        pass
    return training


def test_actions_that_are_worse_stay_possible_where_the_entropy_lets_them_vanish() -> None:
    assert least_probability(trained(0.0)) < 1e-5
    assert least_probability(trained(0.01)) > 3e-4


def test_the_floor_falls_with_the_schedule_of_the_entropy() -> None:
    schedule = make_training(0.01, 0.001).learner.floor_schedule
    assert [schedule(update) for update in (0, UPDATES - 1, 2 * UPDATES)] == pytest.approx([0.01, 0.001, 0.001])
    assert schedule(UPDATES // 2) == pytest.approx(0.0055, rel=0.02)
