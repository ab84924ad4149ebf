"""Generalized advantage estimation (Schulman et al. 2016)."""

import torch
from torch import Tensor

from mario_a3c.algorithms.recurrence import solve_backwards
from mario_a3c.algorithms.vtrace import Targets, expect_shapes


@torch.no_grad()
def gae(
    *, discounts: Tensor, rewards: Tensor, values: Tensor, bootstrap_value: Tensor, trace_lambda: float = 0.95
) -> Targets:
    """All inputs are [T, N] except bootstrap_value, [N]; discounts[t] is 0 where the episode ended at t."""
    expect_shapes(bootstrap_value, discounts=discounts, rewards=rewards, values=values)
    next_values = torch.cat([values[1:], bootstrap_value[None]])
    deltas = rewards + discounts * next_values - values
    advantages = solve_backwards(discounts * trace_lambda, deltas)
    return Targets(values + advantages, advantages)
