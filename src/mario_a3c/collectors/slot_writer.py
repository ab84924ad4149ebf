"""Fills one slot step by step: what every collector does, whatever thread it does it in."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mario_a3c.acting.actor import Actor
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.frames import push_frame
from mario_a3c.experience.rollout import Rollout
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
        is_gpu = self.device.type == "cuda"
        self._observation = torch.from_numpy(envs.observations).repeat(1, frame_stack, 1, 1).to(self.device)
        self._starts = torch.ones(envs.num_envs, dtype=torch.bool)
        self._staging = torch.zeros(envs.observations.shape, dtype=torch.uint8).squeeze(1)
        if is_gpu:
            self._staging = self._staging.pin_memory()
        self._needs_staging = is_gpu

    def fill(self, slot: Rollout) -> npt.NDArray[Any]:
        """Plays a rollout into `slot`; returns the records of the episodes that ended in it."""
        self._begin(slot)
        outcome = {name: np.zeros(slot.rewards.shape, getattr(self.envs, name).dtype) for name in _FLAGS}
        finished = []
        for t in range(slot.num_steps):
            decision = self.actor.act(self._observation, slot.episode_starts[t])
            slot.actions[t], slot.log_probs[t], slot.values[t] = decision[:3]
            self._step(slot, t, decision.actions)
            for name, rows in outcome.items():
                rows[t] = getattr(self.envs, name)
            ended = self.envs.terminated | self.envs.truncated
            if ended.any():
                finished.append(self.envs.final_episodes[ended])
            slot.truncation_values[t] = self._truncation_values()
            self._starts = torch.from_numpy(ended)
            starts, frame = slot.episode_starts[t + 1], slot.frames[t + self.frame_stack]
            starts.copy_(self._starts)
            self._observation = push_frame(self._observation, frame, starts)
        for name, rows in outcome.items():
            getattr(slot, name).copy_(torch.from_numpy(rows))
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
        self._observation = state["observation"].to(self.device)
        self._starts = state["starts"].cpu()

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
        self.envs.step(actions.cpu().numpy(), target.numpy())
        if self._needs_staging:
            row.copy_(target, non_blocking=True)

    def _truncation_values(self) -> Tensor | float:
        """What lies beyond the last observation of episodes that were cut short in this step; 0 elsewhere."""
        is_cut = torch.from_numpy(self.envs.truncated & ~self.envs.terminated)
        if not is_cut.any():
            return 0.0
        last_frames = torch.from_numpy(self.envs.final_observations).to(self.device)
        last = torch.cat([self._observation[:, 1:], last_frames], dim=1)
        return self.actor.value_of(last).masked_fill(~is_cut.to(self.device), 0.0)
