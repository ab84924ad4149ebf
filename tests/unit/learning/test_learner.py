"""The learner: the same numbers as what acted, and the same result however it is cut up."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.errors import CheckpointError, ConfigError, SetupError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.rollout import Rollout
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.execution import RecordingError
from tests.support.short_trainings import NUM_ENVS, assert_equal_weights, make_rollout, make_training
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor

MEMORIES = ("none", "gru", "lstm", "transformer", "gtrxl")
# Steps in proportion to the gradient: Adam and clipping would hide a factor.
PLAIN_DESCENT = {"lr": 1.0, "adam_epsilon": 100.0, "clip_grad": 0.0}


def weights_after(training: ShortTraining, rollout: Rollout, **changes: Any) -> dict[str, Tensor]:
    """What one update makes of the training's network, with some of the learner's settings changed."""
    model = copy.deepcopy(training.model)
    config = replace(training.learner_config, **changes)
    Learner(config, training.returns, model, CPU, total_updates=100).update(rollout)
    return {name: each.detach() for name, each in model.named_parameters()}


# What acts and what learns are the same policy.


@pytest.mark.parametrize("recurrent_type", MEMORIES)
def test_on_policy_the_importance_ratios_are_one(recurrent_type: Any) -> None:
    training = make_training(recurrent_type)
    for _, stats in training.updates(4):
        assert stats.first_log_rho_max < 1e-5
        assert stats.policy_lag == 0


@pytest.mark.parametrize("options", [{"noisy_linear": True}, {"parameter_noise": 1.0}])
def test_on_policy_the_ratios_are_one_with_noise_too(options: dict[str, Any]) -> None:
    envs = Corridor(NUM_ENVS, length=2, frame_stack=1)
    training = ShortTraining(envs, make_network(3, recurrent_type="gru", **options), rollout_steps=12)
    for rollout, stats in training.updates(3):
        assert stats.first_log_rho_max < 1e-5
        assert rollout.state["noise"].abs().sum() > 0


@pytest.mark.parametrize("backbone", ["nature", "impala"])
def test_on_policy_the_ratios_are_one_for_the_real_backbones(backbone: Any) -> None:
    torch.manual_seed(0)
    config = ModelConfig(backbone=backbone, impala_channels=(4, 8), recurrent_type="gru")
    model = CPU.prepare(MarioActorCritic(config, 3, (2, 84, 84)))
    training = ShortTraining(Corridor(4, length=2, frame_stack=1), model, rollout_steps=6)
    for _, stats in training.updates(2):
        assert stats.first_log_rho_max < 1e-5


def test_a_backbone_that_normalises_over_the_batch_would_be_noticed() -> None:
    """In training mode, as it was once: acting sees eight pictures, learning hundreds."""
    training = make_training()
    backbone = training.model.backbone
    backbone.fc = nn.Sequential(backbone.fc, nn.BatchNorm1d(64))  # type: ignore[assignment]
    backbone.fc.weight = backbone.fc[0].weight  # type: ignore[index]
    rollout = make_rollout(training)
    learner = Learner(training.learner_config, training.returns, training.model, CPU, total_updates=100)
    assert learner.update(rollout).first_log_rho_max > 1e-3


@pytest.mark.parametrize("recurrent_type", MEMORIES[1:])
def test_a_learner_that_forgot_to_reset_the_memory_would_be_noticed(recurrent_type: Any) -> None:
    training = make_training(recurrent_type)
    rollout = make_rollout(training)
    observations = rollout.observations()
    rollout.episode_starts.zero_()

    class WithTheRightPictures(Rollout):
        def select(self, envs: Tensor) -> Rollout:
            return _Piece(super().select(envs), observations[:, envs])

    assert _update(training, WithTheRightPictures(**_fields(rollout))).first_log_rho_max > 1e-4


@pytest.mark.parametrize("recurrent_type", ["transformer", "gtrxl"])
def test_a_memory_that_sees_the_future_while_learning_would_be_noticed(recurrent_type: Any) -> None:
    training = make_training(recurrent_type)
    rollout = make_rollout(training)
    memory: Any = training.model.memory
    make_view = memory._view
    memory._view = lambda positions: _seeing_everything(make_view(positions), len(positions))
    assert _update(training, rollout).first_log_rho_max > 1e-4


@pytest.mark.parametrize("recurrent_type", MEMORIES[1:])
def test_replayed_sequences_have_their_own_memory_and_probabilities(recurrent_type: Any) -> None:
    """With weights that did not change the ratios of a replayed sequence are one; without its memory they are not."""
    training = make_training(
        recurrent_type, replay_config=ReplayConfig(per=True, per_batch=NUM_ENVS, per_prefetch=False)
    )
    assert training.replay is not None
    rollout = make_rollout(training)
    training.replay.push(rollout)
    sample = training.replay.sample()
    assert _update(training, sample.rollout).first_log_rho_max < 1e-5
    for each in sample.rollout.state.values():
        each.zero_()
    assert _update(training, sample.rollout).first_log_rho_max > 1e-5


def test_replay_is_learned_from_with_ratios_and_not_with_stale_advantages() -> None:
    """A sequence whose actions today's policy would hardly take teaches hardly anything, whatever is stored with it."""
    only_the_last = ReplayConfig(per=True, per_capacity=NUM_ENVS, per_batch=NUM_ENVS, per_prefetch=False)
    training = make_training(replay_config=only_the_last)
    assert training.replay is not None
    rollout = make_rollout(training)
    gradients = []
    for surprise in (0.0, 20.0):
        rollout.log_probs.add_(surprise)  # e^-20: today's policy is that much less likely to do it
        rollout.advantages.fill_(1e3)
        training.replay.push(rollout)
        sample = training.replay.sample()
        config = replace(training.learner_config, value_coef=0.0, entropy_beta=0.0, normalize_advantages=False)
        model = copy.deepcopy(training.model)
        learner = Learner(config, training.returns, model, CPU, total_updates=100)
        gradients.append(_gradient_norm_of_replay(learner, sample))
    assert gradients[0] > 1e-3
    assert gradients[1] < 1e-6


# Cut up in any way, the result is the same.


@pytest.mark.parametrize("recurrent_type", ["none", "gru"])
@pytest.mark.parametrize("normalize_advantages", [True, False])
def test_accumulating_four_pieces_equals_one_batch_of_four_times_the_size(
    recurrent_type: Any, normalize_advantages: bool
) -> None:
    training = make_training(recurrent_type)
    rollout = make_rollout(training)
    settings = {**PLAIN_DESCENT, "minibatches": 1, "normalize_advantages": normalize_advantages}
    whole = weights_after(training, rollout, grad_accum=1, **settings)
    in_pieces = weights_after(training, rollout, grad_accum=4, **settings)
    assert_equal_weights(whole, in_pieces, rtol=1e-4, atol=1e-6)
    before = dict(training.model.named_parameters())
    assert any((weights - before[name]).abs().max() > 1e-4 for name, weights in whole.items())


@pytest.mark.parametrize("target", ["vtrace", "gae"])
def test_one_pass_equals_one_clipped_pass_where_nothing_lags(target: Any) -> None:
    training = make_training("gru", returns=ReturnConfig(target=target))
    rollout = make_rollout(training)
    settings = {**PLAIN_DESCENT, "minibatches": 1}
    plain = weights_after(training, rollout, objective="policy_gradient", **settings)
    clipped = weights_after(training, rollout, objective="clipped", **settings)
    assert_equal_weights(plain, clipped, rtol=1e-4, atol=1e-6)


def test_passes_are_clipped_around_the_policy_they_begin_with_and_not_the_one_that_acted() -> None:
    training = make_training(learner_config=LearnerConfig(objective="clipped", lr=1e-9))
    rollout = make_rollout(training)
    behind = replace(rollout, log_probs=rollout.log_probs - 0.5, weights_version=-1)  # others acted, less surely
    stats = training.learner.update(behind)
    assert stats.first_log_rho_max == pytest.approx(0.5, abs=1e-5)
    assert (stats.clip_fraction, stats.kl) == pytest.approx((0.0, 0.0), abs=1e-6)
    torch.testing.assert_close(behind.anchor_log_probs, rollout.log_probs)
    forgotten = training.learner.update(replace(behind, weights_version=training.learner.num_updates))
    assert forgotten.clip_fraction == 1.0


@pytest.mark.parametrize("clip_rho", [1.0, 2.0])
def test_what_others_did_counts_as_much_as_the_policy_would_have_done_it(clip_rho: float) -> None:
    """One clipped step from its own beginning is the policy gradient with clipped ratios, lag or not."""
    config = LearnerConfig(minibatches=1, **PLAIN_DESCENT)  # type: ignore[arg-type]
    training = make_training(returns=ReturnConfig(clip_rho=clip_rho), learner_config=config)
    rollout = make_rollout(training)
    acted = rollout.log_probs + torch.linspace(-0.5, 0.5, rollout.log_probs.numel()).view_as(rollout.log_probs)
    behind = replace(rollout, log_probs=acted, weights_version=-1)
    plain, clipped = (weights_after(training, behind, objective=each) for each in ("policy_gradient", "clipped"))
    assert_equal_weights(plain, clipped, rtol=1e-5, atol=1e-7)


def test_warming_up_learns_nothing() -> None:
    training, untouched = (make_training(learner_config=LearnerConfig(epochs=2)) for _ in range(2))
    training.learner.warm_up(training.collector.warm_up(), policy_lag=1)
    for (_, stats), (_, expected) in zip(training.updates(2), untouched.updates(2), strict=True):
        assert stats == expected


def test_several_passes_are_clipped_and_one_is_not_unless_asked() -> None:
    assert not LearnerConfig().is_clipped
    assert LearnerConfig(epochs=3).is_clipped
    assert LearnerConfig(objective="clipped").is_clipped
    assert not LearnerConfig(epochs=3, objective="policy_gradient").is_clipped


def test_passes_times_minibatches_are_optimizer_steps_and_a_target_divergence_ends_them() -> None:
    config = LearnerConfig(lr=1e-2, epochs=3, minibatches=4)
    rollout, stats = next(make_training(learner_config=config).updates(1))
    assert stats.num_optimizer_steps == 12
    assert stats.num_env_steps == rollout.actions.numel()
    assert stats.kl > 0
    config = replace(config, target_kl=1e-6)
    _, stats = next(make_training(learner_config=config).updates(1))
    assert stats.num_optimizer_steps == 4  # everything is seen once


def test_too_few_environments_for_the_minibatches_are_refused() -> None:
    config = LearnerConfig(minibatches=4, grad_accum=4)
    with pytest.raises(ConfigError, match="--num-envs is 8"):
        next(make_training(learner_config=config).updates(1))


def test_out_of_memory_is_answered_with_smaller_pieces_and_the_same_result(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    training = make_training()
    rollout = make_rollout(training)
    settings = {**PLAIN_DESCENT, "minibatches": 2}
    expected = weights_after(training, rollout, **settings)
    limit_batches(monkeypatch, most_envs=1)
    got = weights_after(training, rollout, **settings)
    assert_equal_weights(expected, got, rtol=1e-4, atol=1e-6)
    assert "in 2 pieces" in caplog.text
    assert "in 4 pieces" in caplog.text
    limit_batches(monkeypatch, most_envs=0)
    with pytest.raises(SetupError, match="--rollout-steps"):
        weights_after(training, rollout, **settings)


def test_steps_that_cannot_be_recorded_are_launched_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    training = make_training()
    rollout = make_rollout(training)
    settings: dict[str, Any] = {**PLAIN_DESCENT, "minibatches": 2, "epochs": 2}
    expected = weights_after(training, rollout, **settings)

    model = copy.deepcopy(training.model)
    learner = Learner(replace(training.learner_config, **settings), training.returns, model, CPU, total_updates=100)

    def fail(*_: Any, **__: Any) -> None:
        """As a recording that ends in the middle of a backward pass."""
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, torch.nan)
        raise RecordingError("out of memory")

    monkeypatch.setattr("mario_a3c.learning.recorded.CudaGraph", fail)
    learner._recorded._records = True  # as on a GPU
    learner.update(rollout)
    assert_equal_weights(expected, dict(model.named_parameters()), rtol=0, atol=0)
    assert caplog.text.count("could not be recorded: out of memory") == 1


# Going on after an interruption.


@pytest.mark.parametrize("recurrent_type", ["none", "gru"])
def test_a_resumed_training_is_the_same_to_the_last_bit(recurrent_type: Any) -> None:
    replayed = ReplayConfig(per=True, per_batch=4, per_save=True)
    whole = make_training(recurrent_type, replay_config=replayed)
    list(whole.updates(6))
    first = make_training(recurrent_type, replay_config=replayed)
    list(first.updates(3))
    second = make_training(recurrent_type, replay_config=replayed)
    assert first.replay is not None
    assert second.replay is not None
    second.learner.restore(first.learner.state())
    second.collector.restore(first.collector.state())
    second.replay.restore(first.replay.state())
    history = [stats for _, stats in second.updates(3)]
    assert [stats.update for stats in history] == [4, 5, 6]
    assert history[0].learning_rate == whole.learner.lr_schedule(3)
    assert_equal_weights(dict(whole.model.named_parameters()), dict(second.model.named_parameters()), rtol=0, atol=0)
    ours, theirs = (training.learner.state()["averaged"]["weights"] for training in (whole, second))
    assert_equal_weights(ours, theirs, rtol=0, atol=0)


def test_a_state_of_another_network_is_refused() -> None:
    saved = make_training("gru")
    other = make_training("lstm")
    with pytest.raises(CheckpointError, match=r"the saved network does not fit this run.*memory\.gru"):
        other.learner.restore(saved.learner.state())
    with pytest.raises(CheckpointError, match=r"memory of the episodes.*'cell'"):
        other.actor.restore(saved.actor.state())
    fewer = ShortTraining(Corridor(4, frame_stack=1), make_network(3, recurrent_type="gru"))
    with pytest.raises(CheckpointError, match=r"saved \(8, 2, 84, 84\), here \(4, 2, 84, 84\)"):
        fewer.collector.restore(saved.collector.state())


def test_rates_follow_their_schedules_and_what_adaptive_control_asks_for() -> None:
    training = make_training()
    learner = training.learner
    history = [stats for _, stats in training.updates(5)]
    assert [stats.learning_rate for stats in history] == [learner.lr_schedule(update) for update in range(5)]
    assert [stats.entropy_beta for stats in history] == [learner.entropy_schedule(update) for update in range(5)]
    learner.lr_scale, learner.entropy_scale = 0.5, 2.0
    _, stats = next(training.updates(1))
    assert stats.learning_rate == learner.lr_schedule(5) * 0.5
    assert stats.entropy_beta == learner.entropy_schedule(5) * 2


def test_averaged_weights_follow_and_are_steadier() -> None:
    training = make_training(learner_config=LearnerConfig(lr=1e-2, ema_decay=0.9))
    averaged = training.learner.averaged
    assert averaged is not None
    name, latest = next(iter(training.model.named_parameters()))
    way = {"latest": 0.0, "averaged": 0.0}
    for _ in range(20):
        before = {"latest": latest.detach().clone(), "averaged": averaged.state()["weights"][name].clone()}
        next(training.updates(1))
        way["latest"] += float((latest.detach() - before["latest"]).norm())
        way["averaged"] += float((averaged.state()["weights"][name] - before["averaged"]).norm())
    assert 0 < way["averaged"] < way["latest"]
    model = make_network(3)
    averaged.copy_to(model)
    assert torch.equal(dict(model.named_parameters())[name], averaged.state()["weights"][name])
    assert make_training(learner_config=LearnerConfig(ema_decay=0.0)).learner.averaged is None


def test_values_are_kept_near_the_old_ones_where_that_is_asked() -> None:
    training = make_training()
    rollout = make_rollout(training)
    rollout.values.fill_(5.0)  # what acted thought otherwise: every value is further away than allowed
    free = weights_after(training, rollout)
    clipped = weights_after(training, rollout, value_clip=0.1)
    assert any((free[name] - clipped[name]).abs().max() > 0 for name in free)


def test_lag_is_the_number_of_updates_since_the_weights_that_acted() -> None:
    training = make_training()
    rollout = training.collector.next_rollout()
    assert [training.learner.update(rollout).policy_lag for _ in range(3)] == [0, 1, 2]


def test_burn_in_steps_only_move_the_memory() -> None:
    """Rewards of the first steps do not matter then, and what is learned is what a fresh start there would teach."""
    replayed = ReplayConfig(per=True, per_batch=NUM_ENVS, per_burn_in=4, per_prefetch=False)
    training = make_training("gru", replay_config=replayed)
    assert training.replay is not None
    training.replay.push(make_rollout(training))
    sample = training.replay.sample()
    norms = []
    for _ in range(2):
        learner = Learner(
            training.learner_config, training.returns, copy.deepcopy(training.model), CPU, total_updates=100
        )
        norms.append(_gradient_norm_of_replay(learner, sample))
        sample.rollout.rewards[:4] += 100.0
        sample.rollout.actions[:4] = 0
    assert norms[0] == norms[1] > 0


class _Piece(Rollout):
    """A rollout that shows given pictures."""

    def __init__(self, piece: Rollout, pictures: Tensor) -> None:
        super().__init__(**_fields(piece))
        object.__setattr__(self, "pictures", pictures)

    def observations(self) -> Tensor:
        pictures: Tensor = self.pictures  # type: ignore[attr-defined]
        return pictures


def _fields(rollout: Rollout) -> dict[str, Any]:
    return {name: getattr(rollout, name) for name in Rollout.__dataclass_fields__}


def _update(training: ShortTraining, rollout: Rollout) -> Any:
    model = copy.deepcopy(training.model)
    config = replace(training.learner_config, minibatches=1)
    return Learner(config, training.returns, model, CPU, total_updates=100).update(rollout)


def _seeing_everything(view: Any, num_steps: int) -> Any:
    is_visible = view.is_visible.clone()
    if num_steps > 1:
        is_visible[..., -num_steps:] = True
    return view._replace(is_visible=is_visible)


def _gradient_norm_of_replay(learner: Learner, sample: Any) -> float:
    from mario_a3c.learning.objective import Batch
    from mario_a3c.learning.stats import STEP_NUMBERS

    return float(learner._optimize(Batch.of_sample(sample))[STEP_NUMBERS.index("grad_norm")])


def limit_batches(monkeypatch: pytest.MonkeyPatch, most_envs: int) -> None:
    """A device on which no more than so many environments fit at once."""
    unroll = MarioActorCritic.unroll

    def limited(self: MarioActorCritic, observations: Tensor, *rest: Any) -> Any:
        if observations.shape[1] > most_envs:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return unroll(self, observations, *rest)

    monkeypatch.undo()
    monkeypatch.setattr(MarioActorCritic, "unroll", limited)
