"""What happens between two steps of the environments, where the network is: decide, note it down, look at the result.

On a CPU operation by operation, straight into the rollout. On a GPU that would be some twenty launches a step, which
take longer than the decision itself; there it is two recorded graphs, which write into rows of their own, and a rollout
is copied when it is complete.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mario_a3c.acting.actor import Actor
from mario_a3c.experience.frames import as_words, push_frame
from mario_a3c.experience.rollout import Rollout, RolloutShape
from mario_a3c.models.execution import wait_for_device

Pixels = npt.NDArray[np.uint8]
_DECIDED = ("actions", "log_probs", "values")
_SEEN = ("frames", "episode_starts")


class Play(Protocol):
    """One rollout after another: `begin`, then `decide` and `see` in turns, then `end`."""

    observation: Tensor  # [N, S, H, W]: what is decided about next
    starts: Tensor  # [N] bool: it is the first of its episode

    def warm_up(self) -> None: ...

    def begin(self, slot: Rollout) -> None:
        """Observation 0 is the one after the previous rollout, as it was seen."""

    def decide(self, t: int) -> npt.NDArray[np.int64]:
        """What to do about observation t. [N]"""

    def canvas(self, t: int) -> Pixels:
        """Where the environments draw the frame that follows it. [N, H, W]"""

    def see(self, t: int, ended: npt.NDArray[np.bool_]) -> None:
        """The frame that was drawn, which begins an episode where one ended. [N]"""

    def end(self, slot: Rollout) -> None: ...


def make_play(actor: Actor, shape: RolloutShape) -> Play:
    return RecordedPlay(actor, shape) if actor.device.type == "cuda" else PlainPlay(actor, shape)


class PlainPlay:
    """Environments draw straight into the slot."""

    def __init__(self, actor: Actor, shape: RolloutShape) -> None:
        self._actor, self._frame_stack = actor, shape.frame_stack
        self.observation = actor.observations
        self.starts = torch.ones(shape.num_envs, dtype=torch.bool)

    def warm_up(self) -> None:
        self._actor.warm_up()

    def begin(self, slot: Rollout) -> None:
        self._slot = slot
        slot.frames[: self._frame_stack] = self.observation.transpose(0, 1)
        slot.episode_starts[0] = self.starts

    def decide(self, t: int) -> npt.NDArray[np.int64]:
        decision = self._actor.act(self.observation, self._slot.episode_starts[t])
        for name in _DECIDED:
            getattr(self._slot, name)[t] = getattr(decision, name)
        actions: npt.NDArray[np.int64] = decision.actions.numpy()
        return actions

    def canvas(self, t: int) -> Pixels:
        pixels: Pixels = self._slot.frames[t + self._frame_stack].numpy()
        return pixels

    def see(self, t: int, ended: npt.NDArray[np.bool_]) -> None:
        self.starts.copy_(torch.from_numpy(ended))
        self._slot.episode_starts[t + 1] = self.starts
        push_frame(self.observation, self._slot.frames[t + self._frame_stack], self.starts)

    def end(self, slot: Rollout) -> None:
        """It is complete already."""


class RecordedPlay:
    """Everything lies where it was when the graphs were recorded: the step is counted on the device, and what goes up
    and down passes through page-locked memory."""

    def __init__(self, actor: Actor, shape: RolloutShape) -> None:
        self._actor, self._frame_stack = actor, shape.frame_stack
        self.observation = actor.observations
        self.starts = torch.ones(shape.num_envs, dtype=torch.bool, device=actor.device)
        self._rows = Rollout.empty(shape, device=actor.device)
        self._step = torch.zeros(1, dtype=torch.int64, device=actor.device)
        self._frame = torch.zeros(self._rows.frames.shape[1:], dtype=torch.uint8, device=actor.device)
        self._host_frame, self._host_starts = _page_locked(self._frame), _page_locked(self.starts)
        self._host_actions = _page_locked(self._rows.actions[0])
        self._is_recorded = False
        self._replay_decide: Callable[[], Any] = self._decide
        self._replay_see: Callable[[], Any] = self._see

    def warm_up(self) -> None:
        if self._is_recorded:
            return
        actor, observation, starts = self._actor.state(), self.observation.clone(), self.starts.clone()
        self._replay_decide = self._actor.execution.graph(self._decide)
        self._replay_see = self._actor.execution.graph(self._see)
        self._actor.restore(actor)
        self.observation.copy_(observation)
        self.starts.copy_(starts)
        self._is_recorded = True

    def begin(self, slot: Rollout) -> None:
        self.warm_up()
        self._step.zero_()
        self._rows.frames[: self._frame_stack] = self.observation.transpose(0, 1)
        self._rows.episode_starts[0] = self.starts

    def decide(self, t: int) -> npt.NDArray[np.int64]:
        self._replay_decide()
        wait_for_device(self._actor.device)
        actions: npt.NDArray[np.int64] = self._host_actions.numpy()
        return actions

    def canvas(self, t: int) -> Pixels:
        pixels: Pixels = self._host_frame.numpy()
        return pixels

    def see(self, t: int, ended: npt.NDArray[np.bool_]) -> None:
        self._host_starts.copy_(torch.from_numpy(ended))
        self._replay_see()

    def end(self, slot: Rollout) -> None:
        for name in (*_DECIDED, *_SEEN):
            getattr(slot, name).copy_(getattr(self._rows, name))

    def _decide(self) -> None:
        decision = self._actor.act_unrecorded(self.observation, self.starts)
        for name in _DECIDED:
            getattr(self._rows, name).index_copy_(0, self._step, getattr(decision, name)[None])
        self._host_actions.copy_(decision.actions, non_blocking=True)

    def _see(self) -> None:
        self._frame.copy_(self._host_frame, non_blocking=True)
        self.starts.copy_(self._host_starts, non_blocking=True)
        torch.clamp(self._step + 1, max=self._rows.num_steps, out=self._step)  # being recorded, it runs several times
        self._rows.episode_starts.index_copy_(0, self._step, self.starts[None])
        row = self._step + self._frame_stack - 1
        as_words(self._rows.frames).index_copy_(0, row, as_words(self._frame)[None])
        push_frame(self.observation, self._frame, self.starts)


def _page_locked(like: Tensor) -> Tensor:
    """Memory of the host from which a GPU copies by itself."""
    here = torch.zeros(like.shape, dtype=like.dtype)
    return here.pin_memory() if like.device.type == "cuda" else here
