"""Every way of learning solves tasks of known best return, in CI, within minutes, with the seed in sight."""

from typing import Any

import pytest

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import LearnerConfig
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor, DelayedReward
from tests.support.torch_threads import one_thread
from tests.support.training import greedy_return, returns_of_last_episodes

__all__ = ["one_thread"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # seconds here, minutes on a machine with other work

SEED, NUM_ENVS = 0, 16
LEARNER = LearnerConfig(lr=2e-3)
WAYS: dict[str, dict[str, Any]] = {
    "one pass, V-trace": {},
    "one pass, GAE": {"returns": ReturnConfig(target="gae")},
    "clipped passes": {"learner_config": LearnerConfig(lr=2e-3, epochs=3)},
    "with replay": {"replay_config": ReplayConfig(per=True, per_capacity=256, per_batch=16)},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_corridor_is_walked_to_its_end_by_the_shortest_way(way: str) -> None:
    envs, model = Corridor(NUM_ENVS, frame_stack=1), make_network(3, seed=SEED)
    settings = {"learner_config": LEARNER, "total_updates": 40, "seed": SEED, **WAYS[way]}
    assert returns_of_last_episodes(ShortTraining(envs, model, **settings)) > 0.95 * envs.best_return
    assert greedy_return(Corridor(NUM_ENVS, frame_stack=1), model) == pytest.approx(envs.best_return)


@pytest.mark.parametrize("way", WAYS)
def test_a_reward_is_traced_back_to_the_action_that_earned_it(way: str) -> None:
    envs, model = DelayedReward(NUM_ENVS, frame_stack=1), make_network(3, seed=SEED)
    settings = {"learner_config": LEARNER, "total_updates": 60, "seed": SEED, **WAYS[way]}
    assert returns_of_last_episodes(ShortTraining(envs, model, **settings)) > 0.8 * envs.best_return
    assert greedy_return(DelayedReward(NUM_ENVS, seed=100, frame_stack=1), model) == envs.best_return


@pytest.mark.parametrize("recurrent_type", ["gru", "lstm", "transformer", "gtrxl"])
def test_every_memory_recalls_what_the_stack_has_forgotten(recurrent_type: Any) -> None:
    envs, model = recall_task(), make_network(3, recurrent_type=recurrent_type, seed=SEED)
    training = ShortTraining(envs, model, learner_config=LEARNER, total_updates=100, seed=SEED)
    assert returns_of_last_episodes(training) > 0.8 * envs.best_return
    assert greedy_return(recall_task(seed=100), model) == envs.best_return


def test_without_a_memory_nobody_could_recall_it() -> None:
    model = make_network(3, seed=SEED)
    training = ShortTraining(recall_task(), model, learner_config=LEARNER, total_updates=60, seed=SEED)
    assert returns_of_last_episodes(training) < 0.5


def test_replayed_sequences_of_a_memory_are_learned_from_with_burn_in() -> None:
    replayed = ReplayConfig(per=True, per_capacity=256, per_batch=16, per_burn_in=4)
    envs, model = recall_task(), make_network(3, recurrent_type="gru", seed=SEED)
    training = ShortTraining(envs, model, learner_config=LEARNER, replay_config=replayed, total_updates=100, seed=SEED)
    assert returns_of_last_episodes(training) > 0.8 * envs.best_return
    assert greedy_return(recall_task(seed=100), model) == envs.best_return


def recall_task(seed: int = 0) -> DelayedReward:
    return DelayedReward(NUM_ENVS, recall=True, seed=seed, frame_stack=1)
