"""One record travels: T steps of N environments, from whoever acts to whoever learns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mario_a3c.experience.frames import as_words, from_words, stack_frames

MemoryState = Mapping[str, Tensor]


class RolloutShape(NamedTuple):
    """What decides how large a rollout is."""

    num_steps: int  # T
    num_envs: int  # N
    frame_stack: int = 4  # S
    height: int = 84
    width: int = 84


@dataclass(frozen=True, slots=True)
class Rollout:
    """T steps of N environments, and the observation after them. Everything lies on one device.

    Observation t, for t = 0..T, is made of frames t..t + S - 1, or of less where its episode began in between; the
    first S frames are observation 0 as it was seen. The learner writes `anchor_log_probs`, `advantages` and
    `target_values`.
    """

    frames: Tensor  # [T + S, N, H, W] uint8
    episode_starts: Tensor  # [T + 1, N] bool: observation t is the first of its episode
    actions: Tensor  # [T, N] int64
    log_probs: Tensor  # [T, N]: of what was done, under whatever did it
    values: Tensor  # [T, N]: what the acting network expected
    rewards: Tensor  # [T, N]
    terminated: Tensor  # [T, N] bool: the episode ended by itself after this step
    truncated: Tensor  # [T, N] bool: it was cut short
    stuck: Tensor  # [T, N] bool: what was decided was not done, the action before was repeated
    truncation_values: Tensor  # [T, N]: the value of where it was cut, else 0
    anchor_log_probs: Tensor  # [T, N]: under the weights with which an update began
    advantages: Tensor  # [T, N]
    target_values: Tensor  # [T, N]
    state: MemoryState = field(default_factory=dict)  # [N, ...] each: the memory before observation 0
    weights_version: int = 0  # of the weights that acted
    episodes: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))  # the records of those that ended

    @classmethod
    def empty(
        cls, shape: RolloutShape, *, state: MemoryState | None = None, device: torch.device | str = "cpu"
    ) -> "Rollout":
        """A slot: everything allocated, nothing in it yet. `state` shows what the memory's looks like, [N, ...]."""
        T, N, S, H, W = shape  # noqa: N806 -- axes are capitals

        def zeros(*size: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(size, dtype=dtype, device=device)

        return cls(
            frames=zeros(T + S, N, H, W, dtype=torch.uint8),
            episode_starts=zeros(T + 1, N, dtype=torch.bool),
            actions=zeros(T, N, dtype=torch.int64),
            terminated=zeros(T, N, dtype=torch.bool),
            truncated=zeros(T, N, dtype=torch.bool),
            stuck=zeros(T, N, dtype=torch.bool),
            log_probs=zeros(T, N),
            values=zeros(T, N),
            rewards=zeros(T, N),
            truncation_values=zeros(T, N),
            anchor_log_probs=zeros(T, N),
            advantages=zeros(T, N),
            target_values=zeros(T, N),
            state={name: torch.zeros_like(each, device=device) for name, each in (state or {}).items()},
        )

    @property
    def num_steps(self) -> int:
        return len(self.actions)

    @property
    def num_envs(self) -> int:
        return self.actions.shape[1]

    @property
    def frame_stack(self) -> int:
        return len(self.frames) - self.num_steps

    @property
    def shape(self) -> RolloutShape:
        return RolloutShape(self.num_steps, self.num_envs, self.frame_stack, *self.frames.shape[2:])

    def observations(self) -> Tensor:
        """[T + 1, N, S, H, W] uint8, made from single frames; none reaches into another episode."""
        return stack_frames(self.frames, self.episode_starts)

    def observation(self, step: int) -> Tensor:
        """[N, S, H, W]: one of them."""
        return stack_frames(self.frames, self.episode_starts, step)

    def select(self, envs: Tensor) -> "Rollout":
        """The same steps of some environments, in that order: a minibatch."""
        chosen = {name: getattr(self, name).index_select(1, envs) for name in TENSORS if name != "frames"}
        chosen["frames"] = from_words(as_words(self.frames).index_select(1, envs), self.frames)
        state = {name: each.index_select(0, envs) for name, each in self.state.items()}
        return replace(self, **chosen, state=state)

    def steps_from(self, first: int, state: MemoryState) -> "Rollout":
        """What follows the first steps, given the memory's state after them."""
        later = {name: getattr(self, name)[first:] for name in TENSORS if name != "frames"}
        frames = torch.cat([self.observation(first).transpose(0, 1), self.frames[first + self.frame_stack :]])
        return replace(self, **later, frames=frames, state=state)

    def to(self, device: torch.device | str) -> "Rollout":
        """Itself where it is there already."""
        if self.frames.device == torch.device(device):
            return self
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in TENSORS}
        state = {name: each.to(device, non_blocking=True) for name, each in self.state.items()}
        return replace(self, **moved, state=state)

    def num_bytes(self) -> int:
        tensors = [getattr(self, name) for name in TENSORS]
        return sum(each.nbytes for each in (*tensors, *self.state.values()))


TENSORS = tuple(each.name for each in fields(Rollout) if each.name not in ("state", "weights_version", "episodes"))


class RolloutBuffer:
    """A few rollouts, allocated once. Whoever holds a slot's index owns it; indices are what is handed over."""

    def __init__(
        self,
        num_slots: int,
        shape: RolloutShape,
        *,
        state: MemoryState | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self._slots = [Rollout.empty(shape, state=state, device=device) for _ in range(num_slots)]

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, index: int) -> Rollout:
        return self._slots[index]

    def seal(self, index: int, *, weights_version: int, episodes: "np.ndarray[Any, Any]") -> Rollout:
        """A full slot *is* a rollout: the same tensors, with what is only known at its end."""
        self._slots[index] = replace(self._slots[index], weights_version=weights_version, episodes=episodes)
        return self._slots[index]
