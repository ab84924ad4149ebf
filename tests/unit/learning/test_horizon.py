"""A discount that changes over the run."""

import copy

import pytest
from torch import Tensor

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.errors import ConfigError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.schedules import Horizon
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]

UPDATES = 11


def test_the_horizon_grows_evenly_from_first_to_last_and_stays() -> None:
    schedule = Horizon(0.9, 0.999, UPDATES)
    gammas = [schedule(update) for update in (0, 5, 10, 50)]
    assert gammas == pytest.approx([0.9, 0.99, 0.999, 0.999])


def test_without_another_at_the_end_the_discount_stays_what_it_was() -> None:
    training = ShortTraining(Corridor(8, length=4, frame_stack=1), make_network(3), total_updates=UPDATES)
    assert {stats.gamma for _, stats in training.updates(UPDATES)} == {ReturnConfig().gamma}
    assert Horizon(1.0, 1.0, UPDATES)(5) == 1.0


def test_targets_are_made_with_the_discount_of_their_update() -> None:
    training = ShortTraining(Corridor(8, length=4, frame_stack=1), make_network(3), total_updates=UPDATES)
    rollout = training.collector.next_rollout()

    def targets(returns: ReturnConfig, update: int) -> Tensor:
        config = LearnerConfig(minibatches=1, lr=1e-9)
        model = copy.deepcopy(training.model)
        learner = Learner(config, returns, model, CPU, total_updates=UPDATES)
        learner.num_updates = update
        assert learner.update(rollout).gamma == pytest.approx(learner.gamma_schedule(update))
        return rollout.target_values.clone()

    changing = ReturnConfig(gamma=0.5, gamma_final=0.9)
    assert targets(changing, 0).equal(targets(ReturnConfig(gamma=0.5), 0))
    assert targets(changing, UPDATES - 1).allclose(targets(ReturnConfig(gamma=0.9), 0))
    assert not targets(changing, 0).allclose(targets(changing, UPDATES - 1))


def test_a_potential_has_one_discount() -> None:
    env = MarioEnvConfig(progress="map", reward=RewardConfig(shaping="potential"))
    with pytest.raises(ConfigError, match="--gamma-final"):
        TrainingConfig(vector_env=MarioVectorEnvConfig(env=env), returns=ReturnConfig(gamma_final=0.99))
