"""Losses of single steps, [...]; whoever learns weighs and averages them."""

import torch
from torch import Tensor


def policy_gradient_loss(log_probs: Tensor, log_rhos: Tensor, advantages: Tensor, clip_rho: float) -> Tensor:
    """The policy gradient of A3C, weighted by the clipped importance ratio as IMPALA does."""
    rhos = log_rhos.detach().exp().clamp(max=clip_rho)
    return -rhos * advantages * log_probs


def clipped_policy_loss(log_ratios: Tensor, advantages: Tensor, clip_range: float) -> Tensor:
    """PPO's objective (Schulman et al. 2017): no reward for moving a ratio beyond 1 +- clip_range."""
    ratios = log_ratios.exp()
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - clip_range, 1 + clip_range) * advantages)


def value_loss(values: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (values - targets).square()


def clipped_value_loss(values: Tensor, targets: Tensor, old_values: Tensor, clip_range: float) -> Tensor:
    """The larger of two losses: of the value, and of the value not further than clip_range from the old one."""
    near = old_values + (values - old_values).clamp(-clip_range, clip_range)
    return torch.maximum(value_loss(values, targets), value_loss(near, targets))


def entropy(log_policy: Tensor) -> Tensor:
    """Of a policy given as log-probabilities [..., A]."""
    return -(log_policy.exp() * log_policy).sum(-1)


def evenness(log_policy: Tensor) -> Tensor:
    """The mean log-probability of all actions [..., A]: largest where they are equally likely. Its gradient moves an
    unlikely action as much as any other; that of the entropy vanishes with the probability."""
    return log_policy.mean(-1)


def divergence_from(teacher: Tensor, log_policy: Tensor) -> Tensor:
    """How much a policy leaves out of what a teacher does: KL(teacher || policy) of log-probabilities [..., A]."""
    return (teacher.exp() * (teacher - log_policy)).sum(-1)


def log_prob_of(log_policy: Tensor, actions: Tensor) -> Tensor:
    """[..., A], [...] -> [...]."""
    return log_policy.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def kl_of_step(log_rhos: Tensor) -> Tensor:
    """How far the policy has moved from the one that acted: a non-negative estimate of the divergence."""
    return log_rhos.exp() - 1 - log_rhos
