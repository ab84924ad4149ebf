"""Who plays: a trained network, or one of the simple players that it is compared with."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mario_a3c.acting.actor import Actor
from mario_a3c.acting.policy import Choice
from mario_a3c.evaluation.config import Mode
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.execution import Execution
from mario_a3c.random_numbers import make_keys, uniform


class Moves(NamedTuple):
    """Of N lanes. Simple players think nothing."""

    actions: npt.NDArray[np.int64]  # [N]
    probabilities: npt.NDArray[np.float32] | None = None  # [N, A]
    values: npt.NDArray[np.float32] | None = None  # [N]


class LanePlayer(Protocol):
    """Plays a fixed number of lanes, one episode after another in each."""

    def begin(self, lanes: npt.NDArray[np.int64], streams: npt.NDArray[np.int64]) -> None:
        """In these lanes an episode begins with the next move; its random numbers come from its stream alone."""
        ...

    def move(self, observations: npt.NDArray[np.uint8]) -> Moves: ...


class Player(Protocol):
    """Makes a `LanePlayer` for each group of lanes; those may be used in different threads."""

    num_lanes: int
    """How many episodes of a group are decided about together. Fixed for a player: the last bits of what a network
    computes depend on it."""

    max_threads: int | None

    def sit_down(self, mode: Mode, seed: int) -> LanePlayer: ...


CPU_LANES, GPU_LANES = 16, 128


class NetworkPlayer:
    """A network that plays greedily or draws its actions, with its memory, and with its noise off."""

    def __init__(self, model: MarioActorCritic, device: torch.device, num_lanes: int | None = None) -> None:
        """Plays in float32, and uncompiled: what is measured is the agent, and not a way to run it. Without
        `num_lanes` as many as suit the device: results of others are compared with these."""
        self.execution = Execution(str(device), "float32", "none", "evaluation")
        self.model = self.execution.acting_copy(model)
        is_gpu = device.type == "cuda"
        self.num_lanes = num_lanes or (GPU_LANES if is_gpu else CPU_LANES)
        self.max_threads: int | None = 1 if is_gpu else None

    def sit_down(self, mode: Mode, seed: int) -> LanePlayer:
        streams = torch.zeros(self.num_lanes, dtype=torch.int64)
        choice: Choice = "greedy" if mode == "greedy" else "sampled"
        return _NetworkLanes(Actor(self.model, self.execution, streams, seed=seed, choice=choice))


class _NetworkLanes:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._starts = torch.ones(actor.num_envs, dtype=torch.bool)

    def begin(self, lanes: npt.NDArray[np.int64], streams: npt.NDArray[np.int64]) -> None:
        self._starts[torch.from_numpy(lanes)] = True
        self._actor.begin_streams(torch.from_numpy(lanes), torch.from_numpy(streams))

    def move(self, observations: npt.NDArray[np.uint8]) -> Moves:
        device = self._actor.device
        decision = self._actor.act(torch.from_numpy(observations).to(device), self._starts.to(device))
        self._starts = torch.zeros_like(self._starts)
        probabilities = decision.log_policy.exp().cpu().numpy()
        return Moves(decision.actions.cpu().numpy(), probabilities, decision.values.cpu().numpy())


class RandomPlayer:
    """Every action as likely as any other."""

    num_lanes = CPU_LANES
    max_threads: int | None = None

    def __init__(self, num_actions: int) -> None:
        self._num_actions = num_actions

    def sit_down(self, mode: Mode, seed: int) -> LanePlayer:
        return _RandomLanes(self.num_lanes, self._num_actions, seed)


class _RandomLanes:
    def __init__(self, num_lanes: int, num_actions: int, seed: int) -> None:
        self._num_actions, self._seed = num_actions, seed
        self._keys: Tensor = torch.zeros(num_lanes, dtype=torch.int64)
        self._steps: Tensor = torch.zeros(num_lanes, dtype=torch.int64)

    def begin(self, lanes: npt.NDArray[np.int64], streams: npt.NDArray[np.int64]) -> None:
        self._keys[torch.from_numpy(lanes)] = make_keys(self._seed, "act", torch.from_numpy(streams))
        self._steps[torch.from_numpy(lanes)] = 0

    def move(self, observations: npt.NDArray[np.uint8]) -> Moves:
        actions = (uniform(self._keys, self._steps) * self._num_actions).to(torch.int64)
        self._steps += 1
        return Moves(actions.numpy())


class ConstantPlayer:
    """The same action for ever: running to the right clears no stage, which is why it is worth a line."""

    num_lanes = CPU_LANES
    max_threads: int | None = None

    def __init__(self, action: int) -> None:
        self._action = action

    def sit_down(self, mode: Mode, seed: int) -> LanePlayer:
        return _ConstantLanes(self.num_lanes, self._action)


class _ConstantLanes:
    def __init__(self, num_lanes: int, action: int) -> None:
        self._moves = Moves(np.full(num_lanes, action, np.int64))

    def begin(self, lanes: npt.NDArray[np.int64], streams: npt.NDArray[np.int64]) -> None:
        pass

    def move(self, observations: npt.NDArray[np.uint8]) -> Moves:
        return self._moves
