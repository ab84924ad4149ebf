"""Fills one slot step by step: what every collector does, whatever thread it does it in."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mario_a3c.acting.actor import Actor
from mario_a3c.collectors.play import make_play
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.rollout import Rollout, RolloutShape
from mario_a3c.models.memories import State as MemoryState
from mario_a3c.models.memories import gather_envs
from mario_a3c.stateful import State, check_fit

_FLAGS = ("rewards", "terminated", "truncated", "stuck")


class SlotWriter:
    """Environments that show single frames, and the actor that plays them, one rollout of T steps after another."""

    def __init__(self, envs: EnvBatch, actor: Actor, frame_stack: int, num_steps: int) -> None:
        if envs.observations.shape[1] != 1:
            raise ValueError(
                f"the environments stack {envs.observations.shape[1]} frames; make them with frame_stack=1, "
                "frames are stacked where they are learned from"
            )
        self.envs, self.actor, self.device = envs, actor, actor.device
        shape = RolloutShape(num_steps, envs.num_envs, frame_stack, *envs.observations.shape[2:])
        self._play = make_play(actor, shape)
        self._play.observation.copy_(torch.from_numpy(envs.observations))  # the first frame, S times

    def warm_up(self) -> None:
        """Compiles and records what is done in every step, and does none."""
        self._play.warm_up()

    def fill(self, slot: Rollout) -> npt.NDArray[Any]:
        """Plays a rollout into `slot`; returns the records of the episodes that ended in it."""
        self.actor.draw_noise()
        for name, row in slot.state.items():
            row.copy_(self.actor.memory[name])
        self._play.begin(slot)
        outcome = {name: np.zeros(slot.rewards.shape, getattr(self.envs, name).dtype) for name in _FLAGS}
        finished: list[npt.NDArray[Any]] = []
        cuts: list[Cut] = []
        for t in range(slot.num_steps):
            self.envs.step(self._play.decide(t), self._play.canvas(t))
            for name, rows in outcome.items():
                rows[t] = getattr(self.envs, name)
            ended = self.envs.terminated | self.envs.truncated
            if ended.any():
                finished.append(self.envs.final_episodes[ended])
                cuts += self._cut_short(t)
            self._play.see(t, ended)
        self._play.end(slot)
        # What the learner alone needs goes to its device when the rollout is complete.
        for name, rows in outcome.items():
            getattr(slot, name).copy_(torch.from_numpy(rows))
        self._evaluate_cuts(slot, cuts)
        return np.concatenate(finished) if finished else self.envs.final_episodes[:0].copy()

    def state(self) -> State:
        """Everything that the next rollout depends on, except the weights."""
        return {
            "envs": self.envs.state(),
            "actor": self.actor.state(),
            "observation": self._play.observation.clone(),
            "starts": self._play.starts.clone(),
        }

    def restore(self, state: State) -> None:
        check_fit("observation", {"frames": state["observation"]}, {"frames": self._play.observation})
        self.envs.restore(state["envs"])
        self.actor.restore(state["actor"])
        self._play.observation.copy_(state["observation"])
        self._play.starts.copy_(state["starts"])

    def _cut_short(self, t: int) -> "list[Cut]":
        """The episodes that were cut short in this step, if any."""
        envs = np.flatnonzero(self.envs.truncated & ~self.envs.terminated)
        if not len(envs):
            return []
        rows = torch.from_numpy(envs).to(self.device)
        last_frames = torch.from_numpy(self.envs.final_observations[envs]).to(self.device)
        last = torch.cat([self._play.observation[rows, 1:], last_frames], dim=1)
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
