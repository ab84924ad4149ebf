"""From a rollout's rewards and ends to targets, whichever way is configured."""

from torch import Tensor

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.algorithms.gae import gae
from mario_a3c.algorithms.vtrace import Targets, vtrace


def compute_returns(
    config: ReturnConfig,
    *,
    gamma: float | Tensor,
    log_rhos: Tensor,
    rewards: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    truncation_values: Tensor,
    values: Tensor,
    bootstrap_value: Tensor,
) -> Targets:
    """vs and advantages, [T, N], from [T, N] inputs, bootstrap_value [N] and the discount of now.

    Nothing follows a termination. What would have followed a truncation is worth `truncation_values`, the value of the
    observation at which the episode was cut short.
    """
    is_cut = truncated & ~terminated
    rewards = rewards + gamma * truncation_values.where(is_cut, 0.0)
    discounts = gamma * (~(terminated | truncated)).to(values.dtype)
    inputs = {"discounts": discounts, "rewards": rewards, "values": values, "bootstrap_value": bootstrap_value}
    if config.target == "gae":
        return gae(**inputs, trace_lambda=config.trace_lambda)
    return vtrace(
        **inputs,
        log_rhos=log_rhos,
        trace_lambda=config.trace_lambda,
        clip_rho=config.clip_rho,
        clip_c=config.clip_c,
    )
