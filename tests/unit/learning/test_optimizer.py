"""What was saved goes on: also where the file knows no memory layouts."""

import torch
from torch import nn

from mario_a3c.learning.optimizer import GuardedAdamW


def make_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def step(net: nn.Module, optimizer: GuardedAdamW, count: int) -> None:
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for index in range(count):
        pictures = torch.rand((1, 3, 5, 5), generator=torch.Generator().manual_seed(index))
        loss = net(pictures).square().mean()
        loss.backward()
        optimizer.step(loss, scaler)


def make_optimizer(net: nn.Module) -> GuardedAdamW:
    return GuardedAdamW(net, lr=1e-2, weight_decay=0.0, epsilon=1e-8, clip_grad=0.5)


def test_moments_from_a_file_belong_to_the_weights_they_were_saved_with() -> None:
    whole = make_net()
    optimizer = make_optimizer(whole)
    step(whole, optimizer, 2)
    contiguous = {
        moment: {name: each.contiguous() for name, each in tensors.items()}
        for moment, tensors in optimizer.state().items()
    }
    resumed = make_net()
    resumed.load_state_dict(whole.state_dict())
    other = make_optimizer(resumed)
    other.restore(contiguous)
    step(whole, optimizer, 3)
    step(resumed, other, 3)
    for expected, got in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(expected, got)
