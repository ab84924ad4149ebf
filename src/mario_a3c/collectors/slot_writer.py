"""Fills one slot step by step: what every collector does, whatever thread it does it in."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mario_a3c.acting.actor import Actor
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.frames import push_frame
from mario_a3c.experience.rollout import Rollout
from mario_a3c.models.execution import wait_for_device
from mario_a3c.models.memories import State as MemoryState
from mario_a3c.models.memories import gather_envs
from mario_a3c.stateful import State, check_fit

_FLAGS = ("rewards", "terminated", "truncated")


class SlotWriter:
    """Environments that show single frames, and the actor that plays them, one rollout after another.

    On a CPU environments draw straight into the slot. On a GPU each step's frames go up once, from page-locked memory
    into their row; what the learner alone needs goes up when the rollout is complete.
    """

    def __init__(self, envs: EnvBatch, actor: Actor, frame_stack: int) -> None:
        if envs.observations.shape[1] != 1:
            raise ValueError(
                f"the environments stack {envs.observations.shape[1]} frames; make them with frame_stack=1, "
                "frames are stacked where they are learned from"
            )
        self.envs, self.actor, self.frame_stack = envs, actor, frame_stack
        self.device = actor.device
        self._observation = actor.observations
        self._observation.copy_(torch.from_numpy(envs.observations))  # the first frame, S times
        self._needs_staging = self.device.type == "cuda"
        self._staging = torch.zeros(envs.observations.shape, dtype=torch.uint8).squeeze(1)
        self._starts = torch.ones(envs.num_envs, dtype=torch.bool)
        self._actions = torch.zeros(envs.num_envs, dtype=torch.int64)
        if self._needs_staging:
            self._staging, self._starts = self._staging.pin_memory(), self._starts.pin_memory()
            self._actions = self._actions.pin_memory()

    def fill(self, slot: Rollout) -> npt.NDArray[Any]:
        """Plays a rollout into `slot`; returns the records of the episodes that ended in it."""
        self._begin(slot)
        outcome = {name: np.zeros(slot.rewards.shape, getattr(self.envs, name).dtype) for name in _FLAGS}
        finished: list[npt.NDArray[Any]] = []
        cuts: list[Cut] = []
        for t in range(slot.num_steps):
            decision = self.actor.act(self._observation, slot.episode_starts[t])
            slot.actions[t], slot.log_probs[t], slot.values[t] = decision[:3]
            self._step(slot, t, decision.actions)
            for name, rows in outcome.items():
                rows[t] = getattr(self.envs, name)
            ended = self.envs.terminated | self.envs.truncated
            if ended.any():
                finished.append(self.envs.final_episodes[ended])
                cuts += self._cut_short(t)
            self._starts.copy_(torch.from_numpy(ended))
            starts, frame = slot.episode_starts[t + 1], slot.frames[t + self.frame_stack]
            starts.copy_(self._starts, non_blocking=True)
            push_frame(self._observation, frame, starts)
        for name, rows in outcome.items():
            getattr(slot, name).copy_(torch.from_numpy(rows))
        self._evaluate_cuts(slot, cuts)
        return np.concatenate(finished) if finished else self.envs.final_episodes[:0].copy()

    def state(self) -> State:
        """Everything that the next rollout depends on, except the weights."""
        return {
            "envs": self.envs.state(),
            "actor": self.actor.state(),
            "observation": self._observation.clone(),
            "starts": self._starts.clone(),
        }

    def restore(self, state: State) -> None:
        check_fit("observation", {"frames": state["observation"]}, {"frames": self._observation})
        self.envs.restore(state["envs"])
        self.actor.restore(state["actor"])
        self._observation.copy_(state["observation"])
        self._starts.copy_(state["starts"])

    def _begin(self, slot: Rollout) -> None:
        """Observation 0 is the one after the previous rollout, as it was seen."""
        self.actor.draw_noise()
        slot.frames[: self.frame_stack] = self._observation.transpose(0, 1)
        slot.episode_starts.zero_()
        slot.episode_starts[0] = self._starts.to(self.device)
        for name, row in slot.state.items():
            row.copy_(self.actor.memory[name])

    def _step(self, slot: Rollout, t: int, actions: Tensor) -> None:
        row = slot.frames[t + self.frame_stack]
        target = self._staging if self._needs_staging else row
        self._actions.copy_(actions, non_blocking=True)
        wait_for_device(self.device)
        self.envs.step(self._actions.numpy(), target.numpy())
        if self._needs_staging:
            row.copy_(target, non_blocking=True)

    def _cut_short(self, t: int) -> "list[Cut]":
        """The episodes that were cut short in this step, if any."""
        envs = np.flatnonzero(self.envs.truncated & ~self.envs.terminated)
        if not len(envs):
            return []
        rows = torch.from_numpy(envs).to(self.device)
        last_frames = torch.from_numpy(self.envs.final_observations[envs]).to(self.device)
        last = torch.cat([self._observation[rows, 1:], last_frames], dim=1)
        return [Cut(torch.full_like(rows, t), rows, last, gather_envs(self.actor.memory, rows))]

    def _evaluate_cuts(self, slot: Rollout, cuts: "list[Cut]") -> None:
        """What lies beyond the last observations of episodes that were cut short; all at once, as it takes as long."""
        slot.truncation_values.zero_()
        if not cuts:
            return
        steps, envs, observations = (torch.cat(each) for each in list(zip(*cuts, strict=True))[:3])
        memory = {name: torch.cat([cut.memory[name] for cut in cuts]) for name in cuts[0].memory}
        slot.truncation_values[steps, envs] = self.actor.value_of(observations, memory)


class Cut(NamedTuple):
    """Episodes that were cut short in one step. [K, ...] each"""

    step: Tensor
    env: Tensor
    observation: Tensor  # the last, which the rollout does not hold
    memory: MemoryState  # after the last decision
