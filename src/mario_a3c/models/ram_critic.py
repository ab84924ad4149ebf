"""What pictures do not say about how an episode will go on, from the memory of the console that plays it."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.models.initialisation import orthogonal
from mario_a3c.models.surroundings import Surroundings

_BITS = 8
_HIDDEN_GAIN = 2**0.5
# A few thousand bits are set at a time, and a step of AdamW moves the weights of all of them: numbers of this size
# instead of 1, with weights as much larger, keep their sum from jumping.
_BIT = 1 / 32


class RamCritic(nn.Module):
    """A correction to the value that the network sees in its pictures: nothing at first, so that a trained network can
    go on with it. It is for learning alone (an asymmetric critic, Pinto et al. 2018): whoever acts has pictures.

    Memory is read bit by bit: a byte may be a position, a kind of enemy, or eight flags. What is near the player of the
    game is told it beside that: a distance is a difference of numbers, which takes long to find among bits.
    """

    precision: torch.dtype = torch.float32

    def __init__(
        self, num_features: int, ram_bytes: int, hidden_size: int = 512, surroundings: Surroundings | None = None
    ) -> None:
        super().__init__()
        self.read = orthogonal(nn.Linear(ram_bytes * _BITS, hidden_size), _HIDDEN_GAIN / _BIT)
        self.see = orthogonal(nn.Linear(num_features, hidden_size, bias=False), _HIDDEN_GAIN)
        self.surroundings = surroundings
        if surroundings is not None:
            self.look = orthogonal(nn.Linear(surroundings.num_outputs, hidden_size, bias=False), _HIDDEN_GAIN)
        self.think = orthogonal(nn.Linear(hidden_size, hidden_size), _HIDDEN_GAIN)
        self.judge = orthogonal(nn.Linear(hidden_size, 1), 0.0)

    def forward(self, ram: Tensor, features: Tensor) -> Tensor:
        """uint8 [..., ram_bytes] and what the network's heads see, [..., F] -> [...]."""
        needs_casts = self.precision != torch.float32
        with torch.autocast(ram.device.type, self.precision if needs_casts else None, enabled=needs_casts):
            x = self.read(_BIT * bits_of(ram, self.precision)) + self.see(features)
            if self.surroundings is not None:
                x = x + self.look(self.surroundings(ram))
            x = functional.relu(x)
            x = functional.relu(self.think(x))
        correction: Tensor = self.judge(x.float()).squeeze(-1)
        return correction


def bits_of(ram: Tensor, dtype: torch.dtype) -> Tensor:
    """[..., R] uint8 -> [..., 8 R]: 0 and 1, the lowest bit of a byte first."""
    shifts = torch.arange(_BITS, dtype=torch.uint8, device=ram.device)
    return (ram[..., None] >> shifts & 1).flatten(-2).to(dtype)
