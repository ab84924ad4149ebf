"""The learner where kernels are others, memory can run out, and decisions are recorded graphs."""

import copy
import typing
from collections.abc import Callable

import pytest
import torch

from mario_a3c.acting.actor import Actor
from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.rollout import Rollout, RolloutShape
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ExecutionConfig, ModelConfig, RecurrentType
from mario_a3c.models.execution import Execution, Precision, decide_execution
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor
from tests.support.training import returns_of_last_episodes

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]

# How far a log-probability may differ between acting and learning before the first optimizer step. Half precision is
# rounded differently at other batch sizes; the policies of these tests are far from uniform, which makes it worse.
BOUNDS: dict[Precision, float] = {"float32": 1e-5, "bfloat16": 1e-4, "float16": 1e-3}


@pytest.fixture(autouse=True)
def _float32_is_float32() -> None:
    decide_execution(ExecutionConfig(), "nature", None)


@pytest.mark.parametrize("precision", typing.get_args(Precision))
@pytest.mark.parametrize("backbone", ["nature", "impala"])
@pytest.mark.parametrize("recurrent_type", typing.get_args(RecurrentType))
def test_on_policy_the_importance_ratios_are_one_within_the_precision(
    recurrent_type: RecurrentType,
    backbone: typing.Any,
    precision: Precision,
    measured: Callable[[str, float, float], None],
) -> None:
    """Decisions of 16 environments, learned from four at a time: launched first, recorded from then on."""
    torch.manual_seed(0)
    execution = Execution("cuda", precision, "none", "tests")
    model = MarioActorCritic(ModelConfig(backbone=backbone, recurrent_type=recurrent_type), 3, (4, 84, 84))
    torch.nn.init.orthogonal_(typing.cast(torch.Tensor, model.actor.weight))
    execution.prepare(model)
    envs = Corridor(16, length=2, frame_stack=1)
    actor = Actor(execution.acting_copy(model), execution, torch.arange(16), seed=0)
    collector = SyncCollector(CollectorConfig(rollout_steps=12), envs, actor)
    learner = Learner(LearnerConfig(), ReturnConfig(), model, execution, total_updates=100)
    largest = 0.0
    for _ in range(3):
        stats = learner.update(collector.next_rollout())
        collector.publish(learner.weights())
        largest = max(largest, stats.first_log_rho_max)
        assert stats.num_skipped_steps == 0 or precision == "float16"  # a scale is being found
    measured(f"|log rho|, {precision}, {backbone}, {recurrent_type}", largest, BOUNDS[precision])


def test_a_corridor_is_learned_on_the_gpu_with_replay() -> None:
    execution = Execution("cuda", "float32", "none", "tests")
    envs, model = Corridor(16, frame_stack=1), make_network(3, execution=execution)
    training = ShortTraining(
        envs,
        model,
        learner_config=LearnerConfig(lr=2e-3),
        replay_config=ReplayConfig(per=True, per_capacity=256, per_batch=16),
        execution=execution,
        total_updates=40,
    )
    assert training.replay is not None
    assert training.replay._priorities.powers.is_cuda
    assert returns_of_last_episodes(training) > 0.95 * envs.best_return


def test_what_does_not_fit_into_the_gpu_is_learned_in_pieces() -> None:
    execution = Execution("cuda", "float32", "none", "tests")
    torch.manual_seed(0)
    model = execution.prepare(MarioActorCritic(ModelConfig(backbone="impala"), 3, (4, 84, 84)))
    actor = Actor(copy.deepcopy(model), execution, torch.arange(64), seed=0)
    collector = SyncCollector(CollectorConfig(rollout_steps=16), Corridor(64, length=2, frame_stack=1), actor)
    rollout = collector.next_rollout()
    learner = Learner(LearnerConfig(minibatches=1), ReturnConfig(), model, execution, total_updates=100)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    learner.update(rollout)
    needed, total = torch.cuda.max_memory_allocated(), torch.cuda.get_device_properties(0).total_memory
    try:
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(0.6 * needed / total)
        stats = learner.update(rollout)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert stats.num_pieces > 1
    assert stats.num_skipped_steps == 0


def test_a_step_that_is_not_finite_is_left_out_without_asking_the_cpu() -> None:
    execution = Execution("cuda", "float32", "none", "tests")
    envs, model = Corridor(8, frame_stack=1), make_network(3, execution=execution)
    training = ShortTraining(envs, model, learner_config=LearnerConfig(minibatches=1), execution=execution)
    rollout = training.collector.next_rollout()
    rollout.rewards[0, 0] = float("nan")
    before = [each.detach().clone() for each in training.model.parameters()]
    assert training.learner.update(rollout).num_skipped_steps == 1
    assert all(torch.equal(one, other) for one, other in zip(before, training.model.parameters(), strict=True))


@pytest.mark.parametrize("recurrent_type", ["none", "gru", "lstm"])
def test_recorded_steps_learn_what_launched_ones_learn(
    recurrent_type: RecurrentType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after going back to an earlier state, when the tensors that were recorded are others."""
    execution = Execution("cuda", "float32", "none", "tests")

    def learn(is_recorded: bool) -> list[torch.Tensor]:
        model = make_network(3, recurrent_type=recurrent_type, execution=execution)
        monkeypatch.setattr(type(model.memory), "has_fixed_work", is_recorded)
        rollout = random_rollout(model)
        config = LearnerConfig(lr=2e-3, epochs=2, minibatches=2)
        learner = Learner(config, ReturnConfig(), model, execution, total_updates=20)
        for _ in range(3):
            learner.update(rollout)
        kept = copy.deepcopy(learner.state())
        learner.update(rollout)
        learner.restore(kept)
        for _ in range(3):
            learner.update(rollout)
        return [each.detach().cpu() for each in learner.model.parameters()]

    for recorded, launched in zip(learn(True), learn(False), strict=True):
        torch.testing.assert_close(recorded, launched, rtol=1e-3, atol=1e-4)


def random_rollout(model: MarioActorCritic) -> Rollout:
    torch.manual_seed(0)
    rollout = Rollout.empty(RolloutShape(8, 16, 2), state=model.initial_state(16), device="cuda")
    rollout.frames.random_(0, 256)
    rollout.actions.random_(0, 3)
    rollout.rewards.normal_()
    rollout.log_probs.fill_(-1.0)
    rollout.episode_starts[5, 3] = True
    return rollout
