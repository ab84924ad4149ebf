"""Steps in which a sticky action took the place of the chosen one."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.experience.rollout import Rollout
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.objective import moments_of
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]

POLICY_ALONE = LearnerConfig(minibatches=1, value_coef=0.0, entropy_beta=0.0, lr=1.0, adam_epsilon=100.0, clip_grad=0.0)


@pytest.fixture
def training() -> ShortTraining:
    return ShortTraining(Corridor(8, length=4, frame_stack=1), make_network(3))


def weights_after(training: ShortTraining, rollout: Rollout, config: LearnerConfig) -> Tensor:
    """All of the network's, in one row."""
    model = copy.deepcopy(training.model)
    Learner(config, ReturnConfig(), model, CPU, total_updates=100).update(rollout)
    return torch.cat([each.detach().flatten() for each in model.parameters()])


@pytest.mark.parametrize("objective", ["clipped", "policy_gradient"])
def test_a_policy_learns_nothing_from_what_it_did_not_do(training: ShortTraining, objective: str) -> None:
    config = replace(POLICY_ALONE, objective=objective)  # type: ignore[arg-type]
    rollout = training.collector.next_rollout()
    before = torch.cat([each.detach().flatten() for each in training.model.parameters()])
    rollout.stuck.fill_(True)
    assert weights_after(training, rollout, config).equal(before)
    assert not weights_after(training, rollout, replace(config, excuse_stuck=False)).allclose(before, atol=1e-7)


def test_whatever_was_chosen_in_a_stuck_step_the_rest_is_learned_the_same(training: ShortTraining) -> None:
    rollout = training.collector.next_rollout()
    rollout.stuck[::3] = True
    one = weights_after(training, rollout, POLICY_ALONE)
    rollout.actions[::3] = (rollout.actions[::3] + 1) % 3
    assert weights_after(training, rollout, POLICY_ALONE).equal(one)
    blamed = replace(POLICY_ALONE, excuse_stuck=False)
    assert not weights_after(training, rollout, blamed).allclose(one, atol=1e-7)


def test_a_value_is_learned_from_stuck_steps_too(training: ShortTraining) -> None:
    rollout = training.collector.next_rollout()
    config = replace(POLICY_ALONE, value_coef=0.5)
    rollout.stuck.fill_(True)
    before = torch.cat([each.detach().flatten() for each in training.model.parameters()])
    assert not weights_after(training, rollout, config).allclose(before, atol=1e-7)


def test_pieces_of_a_minibatch_share_the_moments_of_what_counts(training: ShortTraining) -> None:
    rollout = training.collector.next_rollout()
    rollout.stuck[:, :4] = torch.rand(rollout.stuck[:, :4].shape, generator=torch.Generator().manual_seed(0)) < 0.5
    whole = weights_after(training, rollout, POLICY_ALONE)
    in_pieces = weights_after(training, rollout, replace(POLICY_ALONE, grad_accum=4))
    torch.testing.assert_close(whole, in_pieces, rtol=1e-4, atol=1e-6)


def test_moments_are_those_of_the_steps_that_count() -> None:
    advantages = torch.tensor([[1.0, 100.0], [3.0, -100.0]])
    moments = moments_of(advantages, torch.tensor([[True, False], [True, False]]))
    assert [each.item() for each in moments] == [2.0, 1.0]
    nothing = moments_of(advantages, torch.zeros(2, 2, dtype=torch.bool))
    assert [each.item() for each in nothing] == [0.0, 0.0]
