"""What every memory offers, and the one that remembers nothing."""

from typing import Protocol

import torch
from torch import Tensor, nn

State = dict[str, Tensor]
"""Names to tensors, each with the environments first: [N, ...]. Zero is the state at an episode's start."""


class Memory(Protocol):
    """Features of single steps in, features that know the episode so far out.

    `unroll` equals as many calls of `step`: the state is reset where `episode_starts` is true, before that step is
    seen. A step's output depends on this episode's steps up to it, and on nothing else.
    """

    output_size: int
    has_fixed_work: bool
    """Whether an unroll does the same whatever it is given, so that it can be recorded as a graph."""

    def initial_state(self, num_envs: int) -> State: ...

    def step(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        """[N, F], [N] bool -> [N, output_size] and the state after it."""

    def unroll(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        """[T, N, F], [T, N] bool -> [T, N, output_size] and the state after the last step."""


class NoMemory(nn.Module):
    """`--recurrent-type none`: every step by itself."""

    has_fixed_work = True

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def initial_state(self, num_envs: int) -> State:
        return {}

    def step(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        return features, state

    def unroll(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        return features, state


def unroll_by_steps(memory: Memory, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
    """What `unroll` means, one step after the other: the reference that faster ways are compared with."""
    outputs = []
    for step_features, step_starts in zip(features, episode_starts, strict=True):
        output, state = memory.step(step_features, step_starts, state)
        outputs.append(output)
    return torch.stack(outputs), state


def reset_where(episode_starts: Tensor, tensor: Tensor) -> Tensor:
    """`tensor` [N, ...] with zeros where an episode starts."""
    return tensor.masked_fill(episode_starts.view(-1, *[1] * (tensor.dim() - 1)), 0)


def gather_envs(state: State, indices: Tensor) -> State:
    """The state of some environments, in that order."""
    return {name: tensor.index_select(0, indices) for name, tensor in state.items()}
