"""A network that acts for a fixed number of environments, and remembers for them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from mario_a3c.acting.policy import NOT_SCRIPTED, Choice, Decision, decide
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.execution import Execution, copy_weights
from mario_a3c.models.memories import State, gather_envs
from mario_a3c.random_numbers import make_keys, normal, rewound
from mario_a3c.stateful import State as SavedState
from mario_a3c.stateful import check_fit


class Weights(NamedTuple):
    """What a learner publishes. The network is the learner's own: copy from it, and only when it is not learning."""

    version: int
    model: MarioActorCritic


class Actor:
    """Decides for N environments, step after step. `streams` [N] names the source of each one's random numbers:
    environments while training, episodes in an evaluation.

    On a GPU a decision is one CUDA graph; its results are overwritten by the next decision. `observations` is where it
    looks: what is written there need not be copied. Memory and counter change where they lie, so that whoever does more
    between two steps can record that and the decision together.
    """

    def __init__(
        self,
        model: MarioActorCritic,
        execution: Execution,
        streams: Tensor,
        *,
        seed: int,
        choice: Choice = "sampled",
    ) -> None:
        """`model` is what acts: the learner's own where both take turns, or a copy made by `execution.acting_copy`."""
        self.model, self.execution, self.choice = model, execution, choice
        self.device = torch.device(execution.device)
        self.num_envs = len(streams)
        shape = (self.num_envs, *model.observation_shape)
        self.observations = torch.zeros(shape, dtype=torch.uint8, device=self.device)
        self.weights_version = 0
        self._seed = seed
        self._keys = make_keys(seed, "act", streams.to(self.device))
        self._noise_keys = make_keys(seed, "noise", streams.to(self.device))
        self._counter = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._num_noises = 0
        self._nothing_scripted = torch.full((self.num_envs,), NOT_SCRIPTED, device=self.device)
        self.memory: State = model.initial_state(self.num_envs)
        self._decide = partial(_decide_and_remember, model, choice, self.memory, self._keys, self._counter)
        self._function: Callable[..., Decision] = self._decide
        self._is_recorded = False

    def warm_up(self) -> None:
        """Compiles and records a decision, and decides nothing."""
        if self._is_recorded:
            return
        nobody_starts = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        before = self.state()
        self._function = self.execution.graph(self._decide, self.observations, nobody_starts, self._nothing_scripted)
        self.restore(before)
        self._is_recorded = True

    def act(self, observations: Tensor, episode_starts: Tensor, scripted: Tensor | None = None) -> Decision:
        """uint8 [N, C, H, W], bool [N] -> what to do; remembers. `scripted` as in `acting.policy.decide`."""
        self.warm_up()
        return self._function(observations, episode_starts, self._nothing_scripted if scripted is None else scripted)

    def act_unrecorded(self, observations: Tensor, episode_starts: Tensor) -> Decision:
        """The same, operation by operation: to be a part of what somebody else records."""
        return self._decide(observations, episode_starts, self._nothing_scripted)

    @torch.no_grad()
    def value_of(self, observations: Tensor, memory: State) -> Tensor:
        """[K]: what lies beyond observations that continue episodes, given what was remembered. [K, ...] each."""
        values = []
        for batch in torch.split(torch.arange(len(observations), device=self.device), self.num_envs):
            rows = functional.pad(batch, (0, self.num_envs - len(batch)))  # a size for which the network is compiled
            going_on = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
            output = self.model.step(observations[rows], going_on, gather_envs(memory, rows))
            values.append(output.value[: len(batch)])
        return torch.cat(values)

    def begin_streams(self, lanes: Tensor, streams: Tensor) -> None:
        """From the next decision on, these environments (indices [K]) draw from other streams [K], each from its first
        number on: what happens to an episode then does not depend on when it begins, or on who was here before."""
        keys = make_keys(self._seed, "act", streams.to(self.device))
        self._keys[lanes.to(self.device)] = rewound(keys, self._counter * self.model.num_actions)

    def draw_noise(self) -> None:
        """New noise for networks that have any; once per rollout, so that the learner can compute with it."""
        if not self.model.noise_size:
            return
        size = self.model.noise_size
        counters = self._num_noises * size + torch.arange(size, device=self.device)
        _copy_into(self.memory, self.model.with_noise(self.memory, normal(self._noise_keys[:, None], counters)))
        self._num_noises += 1

    def load(self, weights: Weights) -> None:
        """Acts with these weights from now on."""
        if weights.model is not self.model:
            copy_weights(weights.model, self.model)
        self.weights_version = weights.version

    def state(self) -> SavedState:
        return {
            "memory": {name: each.clone() for name, each in self.memory.items()},
            "counter": int(self._counter),
            "num_noises": self._num_noises,
            "weights_version": self.weights_version,
        }

    def restore(self, state: SavedState) -> None:
        saved: Mapping[str, Tensor] = state["memory"]
        check_fit("memory of the episodes", saved, self.memory)
        _copy_into(self.memory, saved)
        self._counter.fill_(state["counter"])
        self._num_noises = state["num_noises"]
        self.weights_version = state["weights_version"]


@torch.no_grad()
def _decide_and_remember(
    model: MarioActorCritic,
    choice: Choice,
    memory: State,
    keys: Tensor,
    counter: Tensor,
    observations: Tensor,
    episode_starts: Tensor,
    scripted: Tensor,
) -> Decision:
    """A function of its own, not a method: a recorded graph holds on to it, and must not keep its actor alive."""
    decision = decide(model, observations, episode_starts, memory, keys, counter, scripted, choice)
    _copy_into(memory, decision.state)
    counter += 1
    return decision


def _copy_into(memory: State, state: Mapping[str, Tensor]) -> None:
    for name, place in memory.items():
        place.copy_(state[name])
