"""Drawing by priority, on whatever device the priorities lie: prefix sums and binary search, no tree and no loop."""

import torch
from torch import Tensor

from mario_a3c.random_numbers import make_keys, uniform

_LEAST_PRIORITY = 1e-3  # a sequence that taught nothing last time is still looked at now and then
_BLOCK_DRAWS = 64


class Priorities:
    """priority^alpha of each place; places that hold nothing have 0 and are never drawn."""

    def __init__(self, capacity: int, alpha: float, device: torch.device, seed: int) -> None:
        self.powers = torch.zeros(capacity, device=device)
        self.num_draws = 0
        self._alpha, self._seed = alpha, seed
        self._block, self._block_points = (-1, 0), self.powers

    def set(self, places: Tensor, priorities: Tensor, where: Tensor | None = None) -> None:
        """`where` (bool, as long as `places`) leaves some as they are."""
        powers = (priorities.float().clamp(min=0) + _LEAST_PRIORITY) ** self._alpha
        # NaN would poison the prefix sums for everybody; what has no priority is looked at as the others are.
        powers = powers.nan_to_num(nan=1.0, posinf=1.0)
        if where is not None:
            powers = torch.where(where, powers, self.powers[places])
        self.powers[places] = powers

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """`count` places in ascending order, and the probability of each. One from each of `count` equal shares of the
        whole: the frequencies are those of independent draws, with less chance in them.
        """
        return draw_by_prefix_sum(self.powers, self._points(count))

    def _points(self, count: int) -> Tensor:
        """One point in each share, looked up for many draws at a time: launches cost more than numbers."""
        block, row = divmod(self.num_draws, _BLOCK_DRAWS)
        self.num_draws += 1
        if self._block != (block, count):
            shares = torch.arange(count, device=self.powers.device)
            counters = torch.arange(block * _BLOCK_DRAWS, (block + 1) * _BLOCK_DRAWS, device=shares.device)
            drawn = uniform(make_keys(self._seed, "replay", shares), counters[:, None])
            self._block, self._block_points = (block, count), (shares + drawn.double()) / count
        return self._block_points[row]


def draw_by_prefix_sum(weights: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """For points in (0, 1) the place into whose share of the weights each falls, and that share. No waiting."""
    sums = weights.double().cumsum(0)  # in single precision the last of 100,000 would lose their share to rounding
    places = torch.searchsorted(sums, points * sums[-1], right=True)
    # Rounding may put the very last point behind the end, or behind the last place that holds something.
    last = torch.searchsorted(sums, sums[-1:])
    places = torch.minimum(places, last)
    return places, weights[places].double() / sums[-1]
