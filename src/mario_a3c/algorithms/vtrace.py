"""V-trace (Espeholt et al. 2018): targets from what another policy did."""

from typing import NamedTuple

import torch
from torch import Tensor

from mario_a3c.algorithms.recurrence import solve_backwards


class Targets(NamedTuple):
    """[T, N] each, without gradient."""

    vs: Tensor  # what the value should be
    advantages: Tensor  # how much better the action was than the value says; not yet weighted by its ratio


@torch.no_grad()
def vtrace(
    *,
    log_rhos: Tensor,
    discounts: Tensor,
    rewards: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
    trace_lambda: float = 1.0,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
) -> Targets:
    """V-trace targets (eq. 1) and the advantages that its policy gradient uses.

    All inputs are [T, N] except bootstrap_value, [N]; discounts[t] is 0 where the episode ended at t. log_rhos are
    the log-probabilities now less those of when it was acted. On-policy this is GAE with the same lambda.
    """
    expect_shapes(bootstrap_value, log_rhos=log_rhos, discounts=discounts, rewards=rewards, values=values)
    rhos = log_rhos.exp()
    next_values = torch.cat([values[1:], bootstrap_value[None]])
    deltas = rhos.clamp(max=clip_rho) * (rewards + discounts * next_values - values)
    traces = trace_lambda * rhos.clamp(max=clip_c)
    corrections = solve_backwards(discounts * traces, deltas)  # vs - values
    later_corrections = torch.cat([corrections[1:], torch.zeros_like(bootstrap_value)[None]])
    advantages = rewards + discounts * (next_values + trace_lambda * later_corrections) - values
    return Targets(values + corrections, advantages)


def expect_shapes(bootstrap_value: Tensor, **inputs: Tensor) -> None:
    """Broadcasting would turn a forgotten axis into a wrong answer."""
    T, N = next(iter(inputs.values())).shape  # noqa: N806 -- axes are capitals
    wrong = {name: tuple(each.shape) for name, each in inputs.items() if each.shape != (T, N)}
    if bootstrap_value.shape != (N,):
        wrong["bootstrap_value"] = tuple(bootstrap_value.shape)
    if wrong or T < 1:
        raise ValueError(f"expected [T, N] = [{T}, {N}] of at least one step, and [N] for bootstrap_value; got {wrong}")
