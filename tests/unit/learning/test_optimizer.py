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


def make_pair(scale: float = 1.0) -> tuple[nn.Module, nn.Module, GuardedAdamW]:
    """A network after some steps beside another module, whose gradients are `scale` times as large."""
    network, _ = make_networks()
    torch.manual_seed(1)
    other = nn.Linear(4, 2)
    optimizer = GuardedAdamW(
        network, lr=LR, weight_decay=WEIGHT_DECAY, epsilon=EPSILON, clip_grad=CLIP, beside={"other": other}
    )
    for number in range(3):
        differentiate(loss_of(network, number))
        differentiate(scale * other(torch.ones(3, 4)).square().sum())
        optimizer.step(torch.zeros(()), NO_SCALER)
    return network, other, optimizer


def test_what_is_learned_beside_the_model_does_not_change_its_steps() -> None:
    """However large its gradients are: each is clipped for itself, and the norm that is reported is the model's."""
    alone, _ = make_networks()
    optimizer = make_optimizer(alone)
    for number in range(3):
        differentiate(loss_of(alone, number))
        optimizer.step(torch.zeros(()), NO_SCALER)
    for scale in (1e-3, 1.0, 1e8):
        network, other, both = make_pair(scale)
        for mine, theirs in zip(network.parameters(), alone.parameters(), strict=True):
            assert torch.equal(mine, theirs), scale
        differentiate(loss_of(network, 9))
        expected = torch.linalg.vector_norm(torch.cat([each.grad.flatten() for each in network.parameters()]))  # type: ignore[union-attr]
        differentiate(scale * other(torch.ones(3, 4)).square().sum())
        norm, is_skipped = both.step(torch.zeros(()), NO_SCALER)
        torch.testing.assert_close(norm, expected)
        assert not is_skipped


def test_what_is_learned_beside_the_model_makes_its_own_clipped_steps() -> None:
    torch.manual_seed(1)
    reference = nn.Linear(4, 2)
    optimizer = make_optimizer(reference)
    for _ in range(3):
        differentiate(1e8 * reference(torch.ones(3, 4)).square().sum())
        norm, _ = optimizer.step(torch.zeros(()), NO_SCALER)
    assert norm > CLIP
    _, other, both = make_pair(1e8)
    for mine, theirs in zip(other.parameters(), reference.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert {name for name in both.state()["exp_avg"] if name.startswith("other.")} == {"other.weight", "other.bias"}


@pytest.mark.parametrize("broken", ["network", "other"])
def test_what_is_not_finite_in_one_of_them_leaves_both_alone(broken: str) -> None:
    network, other, optimizer = make_pair()
    modules = {"network": network, "other": other}
    before, moments = copy.deepcopy((network.state_dict(), other.state_dict())), optimizer.state()
    differentiate(loss_of(network, 4))
    differentiate(other(torch.ones(3, 4)).square().sum())
    next(modules[broken].parameters()).grad.fill_(float("inf"))  # type: ignore[union-attr]
    _, is_skipped = optimizer.step(torch.zeros(()), NO_SCALER)
    assert is_skipped
    for saved, module in zip(before, (network, other), strict=True):
        assert all(torch.equal(each, saved[name]) for name, each in module.state_dict().items())
    after = optimizer.state()
    assert all(torch.equal(each, after[m][n]) for m, named in moments.items() for n, each in named.items())


def test_a_state_of_the_model_alone_leaves_what_is_beside_it_without_moments() -> None:
    network, _, optimizer = make_pair()
    alone = make_optimizer(network)
    saved = {**alone.state(), "step": {name: each + 7 for name, each in alone.state()["step"].items()}}
    optimizer.restore(saved)
    steps = optimizer.state()["step"]
    assert {name: int(each) for name, each in steps.items()} == {
        name: 0 if name.startswith("other.") else 7 for name in steps
    }


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
