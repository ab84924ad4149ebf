"""Nothing that is not finite is ever applied, and what cannot be mended ends the run with what it could not learn."""

import typing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.errors import NumericsError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.recovery import BAD_UPDATES_BEFORE_ROLLBACK, MOST_ROLLBACKS
from mario_a3c.learning.replayed import update_with_replay
from tests.support.short_trainings import NUM_ENVS, assert_equal_weights, make_rollout, make_training
from tests.support.small_networks import CPU


def test_a_step_that_is_not_finite_is_not_applied_and_the_next_one_is() -> None:
    training = make_training(learner_config=LearnerConfig(minibatches=1, ema_decay=0.5))
    learner = training.learner
    good = make_rollout(training)
    bad = replace(good, rewards=good.rewards.clone())
    bad.rewards[3, 2] = float("nan")
    before = {name: each.detach().clone() for name, each in training.model.named_parameters()}
    stats = learner.update(bad)
    assert stats.num_skipped_steps == 1
    assert_equal_weights(before, dict(training.model.named_parameters()), rtol=0, atol=0)
    stats = learner.update(good)
    assert stats.num_skipped_steps == 0
    assert any((each.detach() - before[name]).abs().max() > 0 for name, each in training.model.named_parameters())
    assert all(torch.isfinite(each).all() for each in training.model.parameters())
    assert learner.averaged is not None
    assert all(torch.isfinite(each).all() for each in learner.averaged.state()["weights"].values())


def test_one_bad_minibatch_does_not_stop_the_others() -> None:
    training = make_training(learner_config=LearnerConfig(minibatches=4, normalize_advantages=False))
    rollout = make_rollout(training)
    rollout.rewards[0, 0] = float("inf")
    assert training.learner.update(rollout).num_skipped_steps == 1


def test_a_rollout_that_is_not_finite_is_not_kept_for_replay() -> None:
    training = make_training(replay_config=ReplayConfig(per=True, per_batch=4))
    assert training.replay is not None
    rollout = make_rollout(training)
    update_with_replay(training.learner, rollout, training.replay)
    rollout.rewards.fill_(float("nan"))
    update_with_replay(training.learner, rollout, training.replay)
    assert len(training.replay) == NUM_ENVS


def test_repeated_bad_updates_go_back_slow_down_and_stop_with_the_batch(tmp_path: Path) -> None:
    training = make_training()
    learner = Learner(LearnerConfig(), ReturnConfig(), training.model, CPU, total_updates=100, failure_dir=tmp_path)
    rollout = make_rollout(training)
    good = {name: each.detach().clone() for name, each in training.model.named_parameters()}
    rate = learner.learning_rate
    with torch.no_grad():
        typing.cast(Tensor, training.model.critic.bias).fill_(
            float("inf")
        )  # weights gone astray: no data will mend that
    for number in range(BAD_UPDATES_BEFORE_ROLLBACK):
        stats = learner.update(rollout)
        assert stats.num_rollbacks == (number + 1) // BAD_UPDATES_BEFORE_ROLLBACK
    assert_equal_weights(good, dict(training.model.named_parameters()), rtol=0, atol=0)
    assert learner._recovery.lr_scale == 0.5
    assert learner.update(rollout).num_skipped_steps == 0
    assert learner.learning_rate < rate * 5  # the warm-up goes on, at half the rate
    rollout.rewards.fill_(float("nan"))
    for _ in range(BAD_UPDATES_BEFORE_ROLLBACK * MOST_ROLLBACKS - 1):
        learner.update(rollout)
    with pytest.raises(NumericsError, match=r"try a lower --lr") as stopped:
        learner.update(rollout)
    (file,) = tmp_path.glob("not_finite_*.pt")
    assert str(file) in str(stopped.value)
    saved = torch.load(file, weights_only=True)
    assert torch.equal(saved["rollout"]["frames"], rollout.frames)
    assert saved["rollout"]["rewards"].isnan().all()
    assert stopped.value.exit_code == 5
