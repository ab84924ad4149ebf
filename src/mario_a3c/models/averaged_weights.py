"""A slow copy of the weights, against the unrest of single updates: what is evaluated when it is asked for."""

import torch
from torch import Tensor

from mario_a3c.errors import ConfigError
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.stateful import State


class AveragedWeights:
    """Exponential moving average, in float32 and unbiased from the first update on: early it is a plain mean."""

    def __init__(self, model: MarioActorCritic, decay: float) -> None:
        if not 0.0 <= decay < 1.0:
            raise ConfigError(f"the decay of averaged weights must be in [0, 1), got {decay}")
        self._decay = decay
        self._num_updates = 0
        self._weights: dict[str, Tensor] = {
            name: parameter.detach().clone() for name, parameter in model.named_parameters()
        }

    @torch.no_grad()
    def update(self, model: MarioActorCritic) -> None:
        """After every update of the learner."""
        self._num_updates += 1
        decay = min(self._decay, 1 - 1 / self._num_updates)
        torch._foreach_lerp_(list(self._weights.values()), list(model.parameters()), 1 - decay)

    @torch.no_grad()
    def copy_to(self, model: MarioActorCritic) -> None:
        """In place, so that recorded graphs stay valid; `model` is usually an acting copy."""
        torch._foreach_copy_(list(model.parameters()), list(self._weights.values()))

    def state(self) -> State:
        return {
            "num_updates": self._num_updates,
            "weights": {name: tensor.clone() for name, tensor in self._weights.items()},
        }

    def restore(self, state: State) -> None:
        self._num_updates = state["num_updates"]
        for name, tensor in self._weights.items():
            tensor.copy_(state["weights"][name])
