"""V-trace and GAE against the papers' sums, written out term by term in float64."""

from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.algorithms.gae import gae
from mario_a3c.algorithms.returns import compute_returns
from mario_a3c.algorithms.vtrace import vtrace
from mario_a3c.errors import ConfigError

LENGTHS = (1, 2, 3, 5, 8, 13, 16, 20, 33, 64)
CASES_PER_LENGTH = 1000  # 10,000 in all, each with limits and lambda drawn for its length


def random_inputs(seed: int, length: int, num_envs: int = CASES_PER_LENGTH) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shape = (length, num_envs)
    return {
        "log_rhos": rng.normal(0.0, 1.0, shape),  # ratios from 1/20 to 20: on both sides of every limit
        "discounts": rng.uniform(0.8, 1.0, shape) * (rng.random(shape) > 0.1),
        "rewards": rng.normal(0.0, 1.0, shape),
        "values": rng.normal(0.0, 1.0, shape),
        "bootstrap_value": rng.normal(0.0, 1.0, num_envs),
    }


def tensors(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.tensor(each, dtype=torch.float32) for name, each in inputs.items()}


def vtrace_by_the_sum(
    inputs: dict[str, Any], *, trace_lambda: float, clip_rho: float, clip_c: float
) -> tuple[Any, Any]:
    """Equation 1: v_s = V(x_s) + sum over t of the discounts times the c_i in between times delta_t."""
    rhos, discounts, rewards, values = (
        np.exp(inputs["log_rhos"]),
        inputs["discounts"],
        inputs["rewards"],
        inputs["values"],
    )
    following = np.concatenate([values[1:], inputs["bootstrap_value"][None]])
    deltas = np.minimum(clip_rho, rhos) * (rewards + discounts * following - values)
    cs = trace_lambda * np.minimum(clip_c, rhos)
    vs = values.copy()
    for s in range(len(values)):
        for t in range(s, len(values)):
            vs[s] += np.prod(discounts[s:t] * cs[s:t], axis=0) * deltas[t]
    vs_following = np.concatenate([vs[1:], inputs["bootstrap_value"][None]])
    mixed = trace_lambda * vs_following + (1 - trace_lambda) * following
    return vs, rewards + discounts * mixed - values


def gae_by_the_sum(inputs: dict[str, Any], trace_lambda: float) -> tuple[Any, Any]:
    discounts, values = inputs["discounts"], inputs["values"]
    following = np.concatenate([values[1:], inputs["bootstrap_value"][None]])
    deltas = inputs["rewards"] + discounts * following - values
    advantages = np.zeros_like(values)
    for s in range(len(values)):
        for t in range(s, len(values)):
            advantages[s] += np.prod(trace_lambda * discounts[s:t], axis=0) * deltas[t]
    return values + advantages, advantages


@pytest.mark.parametrize("seed", range(len(LENGTHS)))
def test_vtrace_is_the_sum_of_the_paper(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    inputs = random_inputs(seed, LENGTHS[seed])
    clip_rho = rng.uniform(0.5, 3.0)
    limits: dict[str, Any] = {
        "trace_lambda": rng.uniform(0.5, 1.0),
        "clip_rho": clip_rho,
        "clip_c": clip_rho * rng.uniform(0.3, 0.5),
    }
    vs, advantages = vtrace_by_the_sum(inputs, **limits)
    targets = vtrace(**tensors(inputs), **limits)
    np.testing.assert_allclose(targets.vs.numpy(), vs, rtol=0, atol=1e-5)
    np.testing.assert_allclose(targets.advantages.numpy(), advantages, rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(len(LENGTHS)))
def test_gae_is_the_sum_of_the_paper(seed: int) -> None:
    inputs = random_inputs(seed, LENGTHS[seed])
    del inputs["log_rhos"]
    trace_lambda = np.random.default_rng(2000 + seed).uniform(0.5, 1.0)
    returns, advantages = gae_by_the_sum(inputs, trace_lambda)
    targets = gae(**tensors(inputs), trace_lambda=trace_lambda)
    np.testing.assert_allclose(targets.vs.numpy(), returns, rtol=0, atol=1e-5)
    np.testing.assert_allclose(targets.advantages.numpy(), advantages, rtol=0, atol=1e-5)


def test_vtrace_on_policy_is_gae_and_with_lambda_one_the_n_step_return() -> None:
    inputs = tensors(random_inputs(3, 20))
    inputs["log_rhos"] = torch.zeros_like(inputs["log_rhos"])
    without_ratios = {name: each for name, each in inputs.items() if name != "log_rhos"}
    for trace_lambda in (0.0, 0.7, 1.0):
        ours, other = vtrace(**inputs, trace_lambda=trace_lambda), gae(**without_ratios, trace_lambda=trace_lambda)
        torch.testing.assert_close(ours.vs, other.vs, rtol=0, atol=1e-5)
        torch.testing.assert_close(ours.advantages, other.advantages, rtol=0, atol=1e-5)
    returns = inputs["bootstrap_value"]
    for t in reversed(range(20)):
        returns = inputs["rewards"][t] + inputs["discounts"][t] * returns
    torch.testing.assert_close(vtrace(**inputs).vs[0], returns, rtol=0, atol=1e-5)


def test_no_gradient_flows_through_targets() -> None:
    inputs = {name: each.requires_grad_() for name, each in tensors(random_inputs(4, 5, 3)).items()}
    assert not any(target.requires_grad for target in vtrace(**inputs))


def test_a_forgotten_axis_is_refused_instead_of_broadcast() -> None:
    inputs = tensors(random_inputs(5, 5, 3))
    with pytest.raises(ValueError, match=r"rewards.*\(5, 1\)"):
        vtrace(**{**inputs, "rewards": inputs["rewards"][:, :1]})
    with pytest.raises(ValueError, match="bootstrap_value"):
        vtrace(**{**inputs, "bootstrap_value": inputs["bootstrap_value"][:1]})


@pytest.mark.parametrize("target", ["vtrace", "gae"])
def test_a_truncation_is_worth_what_would_have_followed_and_a_termination_nothing(target: Any) -> None:
    """One step of reward 1 from a state of value 0, with gamma 0.5, in three environments that end in three ways."""
    targets = compute_returns(
        ReturnConfig(target=target, trace_lambda=1.0),
        gamma=0.5,
        log_rhos=torch.zeros(2, 3),
        rewards=torch.tensor([[1.0] * 3, [7.0] * 3]),
        terminated=torch.tensor([[True, False, False], [False] * 3]),
        truncated=torch.tensor([[False, True, False], [False] * 3]),
        truncation_values=torch.tensor([[0.0, 4.0, 0.0], [0.0] * 3]),
        values=torch.zeros(2, 3),
        bootstrap_value=torch.full((3,), 2.0),
    )
    # 1; 1 + 0.5 * 4; 1 + 0.5 * (7 + 0.5 * 2)
    assert targets.vs[0].tolist() == [1.0, 3.0, 5.0]
    assert targets.vs[1].tolist() == [8.0, 8.0, 8.0]
    assert targets.advantages[0].tolist() == [1.0, 3.0, 5.0]


def test_a_termination_outweighs_a_truncation_in_the_same_step() -> None:
    targets = compute_returns(
        ReturnConfig(),
        gamma=0.5,
        log_rhos=torch.zeros(1, 1),
        rewards=torch.ones(1, 1),
        terminated=torch.ones(1, 1, dtype=torch.bool),
        truncated=torch.ones(1, 1, dtype=torch.bool),
        truncation_values=torch.full((1, 1), 4.0),
        values=torch.zeros(1, 1),
        bootstrap_value=torch.zeros(1),
    )
    assert targets.vs.item() == 1.0


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="--clip-c 2"):
        ReturnConfig(clip_c=2.0, clip_rho=1.0)
    with pytest.raises(ConfigError, match="--gamma"):
        ReturnConfig(gamma=1.5)
    with pytest.raises(ConfigError, match="--gamma-final must be"):
        ReturnConfig(gamma_final=-0.1)
    with pytest.raises(ConfigError, match=r"--gamma-final 1.0 by the horizon.*below 1"):
        ReturnConfig(gamma_final=1.0)
