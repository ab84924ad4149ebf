"""What a minibatch is learned from: targets, and a loss, with the weights of now."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.algorithms.losses import (
    clipped_policy_loss,
    clipped_value_loss,
    divergence_from,
    entropy,
    evenness,
    kl_of_step,
    log_prob_of,
    policy_gradient_loss,
    value_loss,
)
from mario_a3c.algorithms.returns import compute_returns
from mario_a3c.algorithms.vtrace import Targets
from mario_a3c.experience.rollout import Rollout
from mario_a3c.experience.sample import ReplaySample
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.actor_critic import MarioActorCritic

_LEAST_DEVIATION = 1e-8

Moments = tuple[Tensor, Tensor]
"""Mean and deviation of advantages. [] each"""


class Rates(NamedTuple):
    """What schedules say before an update."""

    gamma: float
    entropy_beta: float
    floor_beta: float
    teacher_beta: float


class Batch(NamedTuple):
    """What one optimizer step learns from: some environments of a rollout."""

    rollout: Rollout
    envs: Tensor
    weights: Tensor | None = None  # [N] importance weights of the rollout's environments
    burn_in: int = 0
    is_replayed: bool = False

    @classmethod
    def of_sample(cls, sample: ReplaySample) -> "Batch":
        everything = torch.arange(sample.rollout.num_envs, device=sample.weights.device)
        return cls(sample.rollout, everything, sample.weights, sample.burn_in, is_replayed=True)


class Evaluation(NamedTuple):
    """A piece of a batch, seen with the weights of now. [T, n] each, with gradients, but for the targets."""

    piece: Rollout
    log_policy: Tensor  # [T, n, A]
    log_probs: Tensor
    log_rhos: Tensor  # to the policy that acted
    log_ratios: Tensor  # to the policy with which the update began
    values: Tensor
    targets: Targets
    teaches: Tensor  # bool: the policy learns from this step, which was not stuck
    weights: Tensor | None  # [n]


class Objective:
    """Targets and loss of one network; a teacher, where there is one, has no memory.

    Rates are kept on the device, where recorded steps read them.
    """

    def __init__(
        self,
        config: LearnerConfig,
        returns: ReturnConfig,
        model: MarioActorCritic,
        teacher: MarioActorCritic | None,
        device: torch.device,
    ) -> None:
        self._config, self.follows_teacher = config, False
        self._returns, self._model, self._teacher = returns, model, teacher
        self._rates = {name: torch.zeros((), device=device) for name in Rates._fields}

    def set_rates(self, rates: Rates) -> None:
        for name, rate in rates._asdict().items():
            self._rates[name].fill_(rate)
        self.follows_teacher = self._teacher is not None and rates.teacher_beta > 0

    def evaluate(self, batch: Batch, envs: Tensor) -> Evaluation:
        piece = batch.rollout.select(envs)
        if batch.burn_in:
            piece = self._burn_in(piece, batch.burn_in)
        output = self._model.unroll(piece.observations(), piece.episode_starts, dict(piece.state))
        log_policy = output.logits[:-1].log_softmax(-1)
        log_probs = log_prob_of(log_policy, piece.actions)
        teaches = ~piece.stuck if self._config.excuse_stuck else torch.ones_like(piece.stuck)
        # What was not done has no ratio: what followed would have followed whatever was decided.
        log_rhos = (log_probs - piece.log_probs).where(teaches, 0.0)
        log_ratios = log_rhos if batch.is_replayed else log_probs - piece.anchor_log_probs
        values = output.value[:-1]
        targets = compute_returns(
            replace(self._returns, target="vtrace") if batch.is_replayed else self._returns,
            gamma=self._rates["gamma"],
            log_rhos=log_rhos.detach(),
            rewards=piece.rewards,
            terminated=piece.terminated,
            truncated=piece.truncated,
            truncation_values=piece.truncation_values,
            values=values.detach(),
            bootstrap_value=output.value[-1].detach(),
        )
        weights = None if batch.weights is None else batch.weights.index_select(0, envs)
        return Evaluation(piece, log_policy, log_probs, log_rhos, log_ratios, values, targets, teaches, weights)

    def moments(self, batch: Batch, pieces: tuple[Tensor, ...]) -> Moments | None:
        """Of a minibatch's advantages, looked up beforehand where it comes in several pieces."""
        if len(pieces) == 1 or not self._config.normalize_advantages:
            return None
        with torch.no_grad():
            evaluations = [self.evaluate(batch, envs) for envs in pieces]
            advantages, teaches = zip(*((each.targets.advantages, each.teaches) for each in evaluations), strict=True)
            return moments_of(torch.cat(advantages, dim=1), torch.cat(teaches, dim=1))

    def loss(self, batch: Batch, evaluation: Evaluation, moments: Moments | None) -> tuple[Tensor, dict[str, Tensor]]:
        """[] with gradient, and what the stats say about it. Without `moments` those of the evaluation count."""
        if moments is None:
            moments = moments_of(evaluation.targets.advantages, evaluation.teaches)
        policy = self._policy_losses(batch, evaluation, moments).where(evaluation.teaches, 0.0)
        value = self._value_losses(batch, evaluation)
        entropies = entropy(evaluation.log_policy)
        explored = self._rates["entropy_beta"] * entropies
        explored = explored + self._rates["floor_beta"] * evenness(evaluation.log_policy)
        losses = policy + self._config.value_coef * value - explored  # [T, n]
        divergences = self._divergences(evaluation)
        if divergences is not None:
            losses = losses + self._rates["teacher_beta"] * divergences
        if evaluation.weights is not None:
            losses = losses * evaluation.weights
        loss = losses.mean()
        parts = {"loss_policy": policy.mean(), "loss_value": value.mean(), "entropy": entropies.mean()}
        parts["teacher_kl"] = torch.zeros_like(loss) if divergences is None else divergences.mean()
        return loss, {"loss_total": loss, **parts, **diagnose(evaluation, self._config.clip_range)}

    @torch.no_grad()
    def _burn_in(self, piece: Rollout, num_steps: int) -> Rollout:
        """Only the memory sees the first steps: what it was then, today's weights would not make of it (R2D2)."""
        observations = piece.observations()[:num_steps]
        output = self._model.unroll(observations, piece.episode_starts[:num_steps], dict(piece.state))
        return piece.steps_from(num_steps, output.state)

    def _divergences(self, evaluation: Evaluation) -> Tensor | None:
        """From the teacher, [T, n]; None while there is none to follow."""
        if self._teacher is None or not self.follows_teacher:
            return None
        piece = evaluation.piece
        with torch.no_grad():
            undisturbed = self._teacher.initial_state(piece.num_envs)
            advice = self._teacher.unroll(piece.observations()[:-1], piece.episode_starts[:-1], undisturbed)
        return divergence_from(advice.logits.log_softmax(-1), evaluation.log_policy)

    def _policy_losses(self, batch: Batch, evaluation: Evaluation, moments: Moments) -> Tensor:
        advantages, clip_rho = evaluation.targets.advantages, self._returns.clip_rho
        if self._config.normalize_advantages:
            advantages = (advantages - moments[0]) / (moments[1] + _LEAST_DEVIATION)
        # Replayed actions may be far from today's policy: there the clipped objective would let single ratios explode.
        if self._config.is_clipped and not batch.is_replayed:
            lags = (evaluation.piece.anchor_log_probs - evaluation.piece.log_probs).exp().clamp(max=clip_rho)
            return lags * clipped_policy_loss(evaluation.log_ratios, advantages, self._config.clip_range)
        return policy_gradient_loss(evaluation.log_probs, evaluation.log_rhos, advantages, clip_rho)

    def _value_losses(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        values, targets = evaluation.values, evaluation.targets.vs
        if self._config.value_clip and not batch.is_replayed:
            return clipped_value_loss(values, targets, evaluation.piece.values, self._config.value_clip)
        return value_loss(values, targets)


def moments_of(advantages: Tensor, teaches: Tensor) -> Moments:
    """Mean and deviation of those that teach."""
    number = teaches.sum().clamp(min=1)
    mean = advantages.where(teaches, 0.0).sum() / number
    return mean, ((advantages - mean).where(teaches, 0.0).square().sum() / number).sqrt()


@torch.no_grad()
def diagnose(evaluation: Evaluation, clip_range: float) -> dict[str, Tensor]:
    """What says whether learning is healthy. [] each"""
    log_ratios, targets = evaluation.log_ratios, evaluation.targets
    unexplained = (targets.vs - evaluation.values).var(correction=0) / (targets.vs.var(correction=0) + _LEAST_DEVIATION)
    return {
        "kl": kl_of_step(log_ratios).mean(),
        "clip_fraction": ((log_ratios.exp() - 1).abs() > clip_range).float().mean(),
        "rho_mean": evaluation.log_rhos.exp().mean(),
        "explained_variance": 1 - unexplained,
        "advantage_std": targets.advantages.std(correction=0),
    }
