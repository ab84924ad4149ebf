"""What an update did, gathered on the device and read once."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Means over the update's steps where nothing else is said. Of replayed sequences only `loss_replay` knows."""

    update: int  # its number, from 1
    loss_total: float
    loss_policy: float
    loss_value: float
    entropy: float
    kl: float  # from the policy that acted
    clip_fraction: float  # ratios beyond the clipped objective's range
    rho_mean: float
    first_log_rho_max: float  # largest |log rho| before the first optimizer step: 0 up to rounding where nothing lags
    explained_variance: float
    advantage_std: float
    grad_norm: float  # of the steps that were applied, before clipping
    learning_rate: float
    entropy_beta: float
    policy_lag: int  # updates between the weights that acted and those that learned
    num_env_steps: int
    num_optimizer_steps: int
    num_skipped_steps: int  # not applied, because loss or gradient was not finite
    num_pieces: int  # of a minibatch, from --grad-accum or after running out of memory
    num_rollbacks: int  # to the last good state, so far
    loss_replay: float | None = None


class Tally:
    """Named numbers, kept where they are computed: reading them is what makes a GPU wait, so it is done once."""

    def __init__(self) -> None:
        self._numbers: dict[str, Tensor] = {}
        self._weights: dict[str, float] = {}

    def add(self, numbers: Mapping[str, Tensor], weight: float = 1.0) -> None:
        """To be averaged."""
        for name, number in numbers.items():
            self._join(name, number.detach().float() * weight)
            self._weights[name] = self._weights.get(name, 0.0) + weight

    def add_up(self, **numbers: Tensor) -> None:
        """To be summed."""
        for name, number in numbers.items():
            self._join(name, number.detach().float())

    def keep_largest(self, **numbers: Tensor) -> None:
        for name, number in numbers.items():
            self._numbers[name] = torch.maximum(self._numbers.get(name, number), number)

    def merge(self, part: "Tally") -> None:
        """Averages of a part, with the weight of one."""
        self.add({name: part.get(name) for name in part._numbers})

    def get(self, name: str) -> Tensor:
        return self._numbers[name] / self._weights.get(name, 1.0)

    def means(self) -> dict[str, float]:
        """All of them, in one transfer from the device."""
        numbers = torch.stack([self.get(name) for name in self._numbers]).tolist()
        return dict(zip(self._numbers, numbers, strict=True))

    def _join(self, name: str, number: Tensor) -> None:
        self._numbers[name] = self._numbers[name] + number if name in self._numbers else number
