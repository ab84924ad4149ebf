"""Steps are those of torch's own AdamW, unless something is not finite; and nothing is imported for them."""

import copy
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from mario_a3c.learning.optimizer import GuardedAdamW

LR, WEIGHT_DECAY, EPSILON, CLIP = 0.01, 0.1, 1e-5, 0.5
NO_SCALER = torch.amp.GradScaler("cpu", enabled=False)


def make_networks() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    network[0].to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network, copy.deepcopy(network)


def make_optimizer(network: nn.Module) -> GuardedAdamW:
    return GuardedAdamW(network, lr=LR, weight_decay=WEIGHT_DECAY, epsilon=EPSILON, clip_grad=CLIP)


def loss_of(network: nn.Module, number: int) -> Tensor:
    pictures = torch.randn(5, 2, 4, 4, generator=torch.Generator().manual_seed(number))
    loss: Tensor = network(pictures).square().sum()
    return loss


def differentiate(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def test_steps_are_those_of_torch() -> None:
    network, other = make_networks()
    optimizer = make_optimizer(network)
    reference = torch.optim.AdamW(other.parameters(), lr=LR, weight_decay=WEIGHT_DECAY, eps=EPSILON, fused=True)
    for number in range(20):
        rate = LR / (1 + number)
        optimizer.set_lr(rate)
        reference.param_groups[0]["lr"] = rate
        loss, expected = loss_of(network, number), loss_of(other, number)
        differentiate(loss)
        differentiate(expected)
        norm, is_skipped = optimizer.step(loss.detach(), NO_SCALER)
        torch.testing.assert_close(norm, nn.utils.clip_grad_norm_(other.parameters(), CLIP))
        assert not is_skipped
        reference.step()
        reference.zero_grad()
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_what_is_not_finite_leaves_weights_and_moments_alone(what: str) -> None:
    network, _ = make_networks()
    optimizer = make_optimizer(network)
    for number in range(3):
        before, moments = copy.deepcopy(network.state_dict()), optimizer.state()
        loss = loss_of(network, number)
        differentiate(loss)
        is_broken = number == 1
        if is_broken and what == "gradient":
            next(network.parameters()).grad = torch.full_like(next(network.parameters()), float("nan"))
        reported = torch.tensor(float("inf")) if is_broken and what == "loss" else loss.detach()
        _, is_skipped = optimizer.step(reported, NO_SCALER)
        assert bool(is_skipped) == is_broken
        same = all(torch.equal(each, before[name]) for name, each in network.state_dict().items())
        after = optimizer.state()
        same_moments = all(torch.equal(each, after[m][n]) for m, named in moments.items() for n, each in named.items())
        assert (same, same_moments) == (is_broken, is_broken)


def test_a_restored_optimizer_goes_on_where_it_was() -> None:
    network, _ = make_networks()
    optimizer = make_optimizer(network)
    differentiate(loss_of(network, 0))
    optimizer.step(torch.zeros(()), NO_SCALER)
    other = copy.deepcopy(network)
    restored = make_optimizer(other)
    restored.restore(optimizer.state())
    for each, its in ((network, optimizer), (other, restored)):
        differentiate(loss_of(each, 1))
        its.step(torch.zeros(()), NO_SCALER)
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    restored.restore({"step": {}, "exp_avg": {}, "exp_avg_sq": {}})  # as saved before the first step
    assert all(not each.any() for named in restored.state().values() for each in named.values())


def test_making_one_imports_no_compiler() -> None:
    program = (
        "import sys, torch\n"
        "from mario_a3c.learning.optimizer import GuardedAdamW\n"
        "network = torch.nn.Linear(2, 2)\n"
        "optimizer = GuardedAdamW(network, lr=0.1, weight_decay=0.0, epsilon=1e-8, clip_grad=1.0)\n"
        "loss = network(torch.ones(1, 2)).sum()\n"
        "loss.backward()\n"
        "optimizer.step(loss.detach(), torch.amp.GradScaler('cpu', enabled=False))\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
