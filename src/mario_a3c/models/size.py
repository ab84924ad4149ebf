"""How big a network is: what `mario doctor --model` prints and checkpoints record."""

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from mario_a3c.models.actor_critic import MarioActorCritic

_NUM_ENVS = 16  # some work is shared by all environments of a step


@dataclass(frozen=True, slots=True)
class ModelSize:
    num_parameters: int
    num_multiply_adds: int  # of one decision
    num_state_bytes: int  # that the memory carries for one environment


def measure_size(model: MarioActorCritic) -> ModelSize:
    """Counted while decisions are made, so it is true for every network that can be configured."""
    device = next(model.parameters()).device
    state = model.initial_state(_NUM_ENVS)
    observations = torch.zeros(_NUM_ENVS, *model.observation_shape, dtype=torch.uint8, device=device)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.step(observations, torch.zeros(_NUM_ENVS, dtype=torch.bool, device=device), state)
    return ModelSize(
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        num_multiply_adds=counter.get_total_flops() // (2 * _NUM_ENVS),
        num_state_bytes=sum(tensor.nbytes for tensor in state.values()) // _NUM_ENVS,
    )
