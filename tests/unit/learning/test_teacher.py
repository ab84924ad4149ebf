"""A network that follows another one's policy at first, then finds its own."""

import pytest
import torch

from mario_a3c.algorithms.losses import divergence_from
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import RecurrentType
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]

UPDATES = 40


def make_training(
    config: LearnerConfig, *, teacher: MarioActorCritic | None = None, recurrent_type: RecurrentType = "none"
) -> ShortTraining:
    envs = Corridor(8, length=4, frame_stack=1)
    student = make_network(3, recurrent_type=recurrent_type, seed=9)
    return ShortTraining(envs, student, learner_config=config, total_updates=UPDATES, teacher=teacher)


def a_teacher() -> MarioActorCritic:
    """Who has preferences, but none that are worth anything here."""
    teacher = make_network(3, seed=4).requires_grad_(False)
    next(teacher.actor.parameters()).mul_(100.0)
    return teacher


def last_of(training: ShortTraining, count: int) -> float:
    """The divergence from the teacher in the last of so many updates."""
    *_, (_, stats) = training.updates(count)
    return stats.teacher_kl


@pytest.mark.parametrize("recurrent_type", ["none", "gru"])
def test_a_network_of_any_shape_comes_to_do_as_its_teacher_does(recurrent_type: RecurrentType) -> None:
    # What it is paid for itself counts for next to nothing: advantages of deviation 1 beside a weight of 100.
    config = LearnerConfig(lr=2e-3, teacher_beta=100.0, teacher_share=1.0)
    training = make_training(config, teacher=a_teacher(), recurrent_type=recurrent_type)
    first = last_of(training, 1)
    assert last_of(training, UPDATES // 2) < 0.1 * first


def test_a_teacher_that_counts_for_next_to_nothing_is_not_followed() -> None:
    config = LearnerConfig(lr=2e-3, teacher_beta=1e-6, teacher_share=1.0)
    training = make_training(config, teacher=a_teacher())
    first = last_of(training, 1)
    assert last_of(training, UPDATES // 2) > 0.5 * first


def test_it_fades_within_its_share_of_the_run_and_is_not_asked_any_more() -> None:
    config = LearnerConfig(teacher_beta=0.8, teacher_share=0.5)
    training = make_training(config, teacher=a_teacher())
    seen = [(stats.teacher_beta, stats.teacher_kl) for _, stats in training.updates()]
    weights = [weight for weight, _ in seen]
    assert weights[0] == 0.8
    assert weights[UPDATES // 4] == pytest.approx(0.4)
    assert all(weight == 0 for weight in weights[UPDATES // 2 :])
    assert all((weight > 0) == (divergence > 0) for weight, divergence in seen)


def test_a_teacher_with_noise_of_its_own_is_asked_without_it() -> None:
    noisy = make_network(3, seed=4, parameter_noise=0.1).requires_grad_(False)
    training = make_training(LearnerConfig(lr=1e-12, teacher_share=1.0), teacher=noisy)
    assert last_of(training, 1) > 0


def test_without_a_teacher_its_weight_is_nothing() -> None:
    _, stats = next(make_training(LearnerConfig(teacher_beta=5.0)).updates(1))
    assert (stats.teacher_beta, stats.teacher_kl) == (0, 0)


def test_the_divergence_is_that_of_the_teacher_from_the_policy() -> None:
    teacher, policy = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.9, 0.1]).log()
    expected = 0.5 * torch.tensor(0.5 / 0.9).log() + 0.5 * torch.tensor(0.5 / 0.1).log()
    torch.testing.assert_close(divergence_from(teacher, policy), expected)
    assert divergence_from(teacher, teacher) == 0
