"""A learner whose advantages come from a critic that looks into the console's memory."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.errors import CheckpointError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Batch, Learner
from mario_a3c.learning.recovery import BAD_UPDATES_BEFORE_ROLLBACK
from mario_a3c.models.config import RecurrentType
from mario_a3c.models.ram_critic import RamCritic
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Lottery

NUM_ENVS, ROLLOUT_STEPS = 8, 10
ONE_STEP = LearnerConfig(minibatches=1)


@dataclass
class AsymmetricTraining(ShortTraining):
    """With rollouts that hold the memory; without a critic of it they are learned from as ever."""

    ram_critic: RamCritic | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        config, stack = CollectorConfig(rollout_steps=self.rollout_steps), self.model.observation_shape[0]
        self.collector = SyncCollector(config, self.envs, self.actor, frame_stack=stack, ram_bytes=Lottery.RAM_BYTES)
        self.learner = self.make_learner(self.learner_config)
        if self.replay is not None:
            shape = self.collector.warm_up().shape
            self.replay = PrioritizedReplay(
                self.replay_config, shape, total_updates=self.total_updates, state=self.actor.memory
            )

    def make_learner(self, config: LearnerConfig) -> Learner:
        return Learner(
            config, self.returns, self.model, CPU, total_updates=self.total_updates, ram_critic=self.ram_critic
        )


def make_critic(recurrent_type: RecurrentType = "none") -> RamCritic:
    num_features = make_network(3, recurrent_type=recurrent_type).memory.output_size
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return RamCritic(num_features, Lottery.RAM_BYTES, hidden_size=32)


def make_training(
    *, with_critic: bool = True, recurrent_type: RecurrentType = "none", **options: Any
) -> AsymmetricTraining:
    return AsymmetricTraining(
        Lottery(NUM_ENVS),
        make_network(3, recurrent_type=recurrent_type),
        ram_critic=make_critic(recurrent_type) if with_critic else None,
        **{"rollout_steps": ROLLOUT_STEPS, "total_updates": 40, **options},
    )


def weights_of(module: nn.Module | None) -> Tensor:
    """All of them, in one row."""
    assert module is not None
    return torch.cat([each.detach().flatten() for each in module.parameters()])


def own_values(training: AsymmetricTraining, rollout: Rollout) -> Tensor:
    """What the network itself expects. [T, N]"""
    with torch.no_grad():
        output = training.model.unroll(rollout.observations(), rollout.episode_starts, dict(rollout.state))
    return output.value[:-1]


@pytest.mark.parametrize("recurrent_type", ["none", "gru"])
def test_with_a_new_critic_the_first_step_is_the_one_without_it(recurrent_type: RecurrentType) -> None:
    """It corrects nothing yet: the same targets and advantages, and the same network after them."""
    rollouts, trainings = [], []
    for with_critic in (True, False):
        training = make_training(with_critic=with_critic, recurrent_type=recurrent_type, learner_config=ONE_STEP)
        rollout, _ = next(training.updates(1))
        rollouts.append(rollout)
        trainings.append(training)
    assert rollouts[0].advantages.abs().max() > 0.1
    for name in ("advantages", "target_values"):
        assert torch.equal(getattr(rollouts[0], name), getattr(rollouts[1], name)), name
    assert torch.equal(weights_of(trainings[0].model), weights_of(trainings[1].model))
    after = [next(each.updates(1))[0].advantages for each in trainings]
    assert not torch.equal(*after)


def test_both_critics_learn() -> None:
    """From one rollout again and again, in which every ticket wins: then there is something for both to learn."""
    training = make_training(learner_config=LearnerConfig(lr=3e-3, minibatches=1))
    rollout = training.collector.next_rollout()
    rollout.rewards.abs_()
    before, own_before = weights_of(training.ram_critic), weights_of(training.model.critic)
    error_before = (own_values(training, rollout) - 1).square().mean()
    for _ in range(25):
        training.learner.update(rollout)
    assert not torch.equal(weights_of(training.ram_critic), before)
    assert not torch.equal(weights_of(training.model.critic), own_before)
    assert (own_values(training, rollout) - 1).square().mean() < 0.2 * error_before


def test_what_the_critic_of_the_memory_learns_is_no_gradient_of_the_network() -> None:
    training = make_training()
    rollout = training.collector.next_rollout()
    assert training.ram_critic is not None
    nn.init.normal_(training.ram_critic.judge.weight)
    evaluation = training.learner._evaluate(Batch(rollout, torch.arange(NUM_ENVS)), torch.arange(NUM_ENVS))
    judged, parameters = evaluation.judged.sum(), list(training.model.parameters())
    assert all(each is None for each in torch.autograd.grad(judged, parameters, retain_graph=True, allow_unused=True))
    for gradient in torch.autograd.grad(judged, list(training.ram_critic.parameters())):
        assert gradient.abs().sum() > 0
    assert not evaluation.targets.vs.requires_grad


@pytest.mark.parametrize(("with_critic", "least", "most"), [(True, 0.8, 1.0), (False, -0.2, 0.2)])
def test_what_only_memory_shows_is_explained_with_the_critic_alone(
    with_critic: bool, least: float, most: float
) -> None:
    config = LearnerConfig(lr=0.01, epochs=4, minibatches=1)
    training = make_training(with_critic=with_critic, learner_config=config, total_updates=12)
    explained = [stats.explained_variance for _, stats in training.updates()]
    assert least < min(explained[-3:])
    assert max(explained[-3:]) < most


@pytest.mark.parametrize("recurrent_type", ["none", "gru"])
def test_a_resumed_training_is_the_same_to_the_last_bit(recurrent_type: RecurrentType) -> None:
    replayed = ReplayConfig(per=True, per_batch=4, per_burn_in=2, per_save=True)

    def make() -> AsymmetricTraining:
        return make_training(recurrent_type=recurrent_type, replay_config=replayed)

    whole, first, second = make(), make(), make()
    list(whole.updates(6))
    list(first.updates(3))
    assert first.replay is not None
    assert second.replay is not None
    second.learner.restore(copy.deepcopy(first.learner.state()))
    second.collector.restore(first.collector.state())
    second.replay.restore(first.replay.state())
    list(second.updates(3))
    assert torch.equal(weights_of(whole.model), weights_of(second.model))
    assert torch.equal(weights_of(whole.ram_critic), weights_of(second.ram_critic))
    assert not torch.equal(weights_of(first.ram_critic), weights_of(second.ram_critic))
    ours, theirs = (each.learner.state()["optimizer"] for each in (whole, second))
    for moment, named in ours.items():
        assert any(name.startswith("ram_critic.") for name in named)
        assert all(torch.equal(each, theirs[moment][name]) for name, each in named.items())


def test_a_state_of_a_learner_without_the_critic_is_refused() -> None:
    plain, asymmetric = make_training(with_critic=False), make_training()
    with pytest.raises((CheckpointError, KeyError), match=r"ram_critic|critic of the console's memory"):
        asymmetric.learner.restore(plain.learner.state())


def test_a_state_of_another_critic_is_refused() -> None:
    training, other = make_training(), make_training()
    state = dict(other.learner.state())
    state["ram_critic"] = RamCritic(64, Lottery.RAM_BYTES, hidden_size=16).state_dict()
    with pytest.raises(CheckpointError, match="the saved critic of the console's memory does not fit this run"):
        training.learner.restore(state)


def test_a_critic_gone_astray_changes_nothing_and_comes_back_with_the_last_good_weights() -> None:
    training = make_training(learner_config=ONE_STEP)
    rollout = training.collector.next_rollout()
    network, critic = weights_of(training.model), weights_of(training.ram_critic)
    assert training.ram_critic is not None
    nn.init.constant_(training.ram_critic.judge.weight, float("inf"))
    for number in range(BAD_UPDATES_BEFORE_ROLLBACK):
        assert not torch.equal(weights_of(training.ram_critic), critic), number
        assert training.learner.update(rollout).num_skipped_steps == 1
        assert torch.equal(weights_of(training.model), network)
    assert torch.equal(weights_of(training.ram_critic), critic)
    assert training.learner.update(rollout).num_skipped_steps == 0


def test_pieces_of_a_minibatch_teach_the_critic_what_the_whole_teaches() -> None:
    # Steps in proportion to the gradient: Adam and clipping would hide a factor.
    config = LearnerConfig(minibatches=1, lr=1.0, adam_epsilon=100.0, clip_grad=0.0)
    results = []
    for grad_accum in (1, 4):
        training = make_training()
        rollout = training.collector.next_rollout()
        before = weights_of(training.ram_critic)
        learner = training.make_learner(replace(config, grad_accum=grad_accum))
        for _ in range(3):
            learner.update(rollout)
        results.append(weights_of(training.ram_critic))
        assert (results[-1] - before).abs().max() > 1e-4
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-6)


def test_warming_up_learns_nothing() -> None:
    training, untouched = (make_training(learner_config=LearnerConfig(epochs=2)) for _ in range(2))
    training.learner.warm_up(training.collector.warm_up(), policy_lag=1)
    for (_, stats), (_, expected) in zip(training.updates(2), untouched.updates(2), strict=True):
        assert stats == expected
    assert torch.equal(weights_of(training.ram_critic), weights_of(untouched.ram_critic))
