"""Unrolls with a backward of their own, against autograd through the library's cells."""

import typing

import pytest
import torch
from torch import Tensor

from mario_a3c.models.memories import State, unroll_by_steps
from mario_a3c.models.recurrent import GruMemory, LstmMemory
from mario_a3c.models.unrolled_cells import UnrolledGru, UnrolledLstm

T, N, F, H = 7, 5, 6, 4
each_kind = pytest.mark.parametrize("kind", [GruMemory, LstmMemory])
Kind = type[GruMemory] | type[LstmMemory]


def make_memory(kind: Kind) -> GruMemory | LstmMemory:
    torch.manual_seed(0)
    memory = kind(F, H).double()
    for parameter in memory.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # biases too: they begin as zeros
    return memory


def make_rollout(memory: GruMemory | LstmMemory) -> tuple[Tensor, Tensor, State]:
    """Episodes begin at the first step of one environment, in the middle of all, and at the last step of one."""
    features = torch.randn(T, N, F, dtype=torch.float64, requires_grad=True)
    starts = torch.rand(T, N) < 0.2
    starts[0], starts[:, -1], starts[-1, 0] = torch.arange(N) == 1, False, True
    state = {name: torch.randn_like(zeros).requires_grad_() for name, zeros in memory.initial_state(N).items()}
    return features, starts, state


def unroll_on_a_gpus_way(
    memory: GruMemory | LstmMemory, features: Tensor, starts: Tensor, state: State
) -> tuple[Tensor, State]:
    return memory._unroll_by_steps(features, starts, **state)


def gradients(unroll: typing.Callable[..., tuple[Tensor, State]], memory: GruMemory | LstmMemory) -> dict[str, Tensor]:
    """Of everything that has one, from a loss of all outputs and of the state after the last step."""
    torch.manual_seed(1)
    features, starts, state = make_rollout(memory)
    output, after = unroll(memory, features, starts, state)
    weights = torch.randn_like(output)
    loss = (output * weights).sum() + sum(tensor.sin().sum() for tensor in after.values())
    wanted = {"features": features, **state, **dict(memory.named_parameters())}
    found = torch.autograd.grad(loss, list(wanted.values()))
    return {"output": output.detach(), **dict(zip(wanted, found, strict=True))}


@each_kind
@pytest.mark.parametrize("way", ["its steps", "packed pieces through nn.GRU or nn.LSTM"])
def test_an_unroll_has_the_outputs_and_gradients_of(way: str, kind: Kind) -> None:
    memory = make_memory(kind)
    expected = gradients(unroll_by_steps if way == "its steps" else kind.unroll, memory)
    torch.testing.assert_close(gradients(unroll_on_a_gpus_way, memory), expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize(("function", "num_gates", "num_states"), [(UnrolledGru, 3, 1), (UnrolledLstm, 4, 2)])
def test_gradients_are_those_of_small_differences(
    function: type[torch.autograd.Function], num_gates: int, num_states: int
) -> None:
    torch.manual_seed(0)
    steps, envs, size = 3, 2, 2
    shapes = [(steps, envs, num_gates * size), *[(envs, size)] * num_states]
    shapes += [(num_gates * size, size), (num_gates * size,), (num_gates * size,)]
    gates, *others = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    going_on = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)[..., None]
    assert torch.autograd.gradcheck(function.apply, (gates, going_on, *others))
