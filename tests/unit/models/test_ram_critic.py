"""A critic that reads memory bit by bit, and says nothing before it has learned something."""

import numpy as np
import pytest
import torch
from torch import Tensor

from mario_a3c.learning.optimizer import GuardedAdamW
from mario_a3c.models.ram_critic import RamCritic, bits_of

NUM_FEATURES, RAM_BYTES, HIDDEN = 6, 5, 128
NO_SCALER = torch.amp.GradScaler("cpu", enabled=False)


def make_critic(seed: int = 0) -> RamCritic:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return RamCritic(NUM_FEATURES, RAM_BYTES, HIDDEN)


def random_memory(*size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (*size, RAM_BYTES), dtype=torch.uint8, generator=generator)


def random_features(*size: int, seed: int = 1) -> Tensor:
    return torch.randn(*size, NUM_FEATURES, generator=torch.Generator().manual_seed(seed))


def make_optimizer(critic: RamCritic) -> GuardedAdamW:
    return GuardedAdamW(critic, lr=2e-2, weight_decay=0.0, epsilon=1e-8, clip_grad=0.0)


def gradients_of(critic: RamCritic, ram: Tensor, features: Tensor, wanted: Tensor) -> dict[str, float]:
    """Of the squared error, by the name of what they reach: the largest of each."""
    loss = (critic(ram, features) - wanted).square().mean()
    loss.backward()
    return {name: float(each.grad.abs().max()) for name, each in critic.named_parameters() if each.grad is not None}


def descend(critic: RamCritic, optimizer: GuardedAdamW, ram: Tensor, features: Tensor, wanted: Tensor) -> float:
    loss = (critic(ram, features) - wanted).square().mean()
    loss.backward()
    optimizer.step(loss.detach(), NO_SCALER)
    return float(loss.detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_bits_are_those_of_every_byte_lowest_first(dtype: torch.dtype) -> None:
    every_byte = torch.arange(256, dtype=torch.uint8).reshape(4, 8, 8)
    bits = bits_of(every_byte, dtype)
    assert bits.shape == (4, 8, 64)
    assert bits.dtype == dtype
    expected = np.unpackbits(every_byte.numpy(), axis=-1, bitorder="little")
    assert torch.equal(bits, torch.from_numpy(expected).to(dtype))


def test_whatever_goes_in_a_new_critic_corrects_nothing() -> None:
    critic = make_critic()
    for scale in (0.0, 1.0, 1e6):
        correction = critic(random_memory(7, 3), scale * random_features(7, 3))
        assert correction.shape == (7, 3)
        assert correction.dtype == torch.float32
        assert (correction == 0).all()


@torch.no_grad()
def test_half_precision_rounds_what_is_inside_and_not_the_correction() -> None:
    critic = make_critic()
    critic.judge.weight.normal_(generator=torch.Generator().manual_seed(3))
    ram, features = random_memory(50), random_features(50)
    exact = critic(ram, features)
    critic.precision = torch.bfloat16
    rounded = critic(ram, features)
    assert rounded.dtype == torch.float32
    assert 0 < (rounded - exact).abs().max() < 0.1 * exact.std()
    critic.judge.weight.zero_()
    assert (critic(ram, features) == 0).all()


def test_after_one_step_gradients_reach_every_layer() -> None:
    critic = make_critic()
    ram, features = random_memory(32), random_features(32)
    wanted = bits_of(ram, torch.float32)[:, 3]
    at_first = gradients_of(critic, ram, features, wanted)
    # Behind a layer of zeros there is nothing to be seen yet.
    assert {name for name, largest in at_first.items() if largest > 0} == {"judge.weight", "judge.bias"}
    make_optimizer(critic).step(torch.zeros(()), NO_SCALER)
    later = gradients_of(critic, ram, features, wanted)
    assert later.keys() == dict(critic.named_parameters()).keys()
    assert min(later.values()) > 0


@pytest.mark.parametrize("bit", [0, 13, 8 * RAM_BYTES - 1])
def test_a_value_that_hangs_on_one_bit_is_learned_and_holds_for_new_memory(bit: int) -> None:
    critic = make_critic()
    optimizer = make_optimizer(critic)
    for step in range(80):
        ram = random_memory(64, seed=step)
        descend(critic, optimizer, ram, random_features(64, seed=step), 2 * bits_of(ram, torch.float32)[:, bit] - 1)
    ram = random_memory(256, seed=1000)
    with torch.no_grad():
        correction = critic(ram, random_features(256, seed=1000))
    is_set = bits_of(ram, torch.bool)[:, bit]
    assert 0.3 < is_set.float().mean() < 0.7
    assert (correction - (2.0 * is_set - 1)).square().mean() < 0.15


def test_what_the_network_sees_counts_too() -> None:
    """What memory means may depend on it."""
    critic = make_critic()
    optimizer = make_optimizer(critic)
    losses = []
    for step in range(120):
        ram, features = random_memory(64, seed=step), random_features(64, seed=step)
        sign = 2 * bits_of(ram, torch.float32)[:, 9] - 1
        losses.append(descend(critic, optimizer, ram, features, sign * (features[:, 0] > 0)))
    assert sum(losses[-10:]) < 0.4 * sum(losses[:10])
