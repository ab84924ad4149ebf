"""What an update did, gathered on the device and read once."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mario_a3c.models.execution import wait_for_device


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Means over the update's steps where nothing else is said. Of replayed sequences only `loss_replay` knows."""

    update: int  # its number, from 1
    loss_total: float
    loss_policy: float
    loss_value: float
    entropy: float
    kl: float  # from the policy with which the update began
    clip_fraction: float  # ratios beyond the clipped objective's range
    rho_mean: float
    first_log_rho_max: float  # largest |log rho| before the first optimizer step: 0 up to rounding where nothing lags
    explained_variance: float
    advantage_std: float
    teacher_kl: float  # from the teacher; 0 where none is followed
    grad_norm: float  # of the steps that were applied, before clipping
    learning_rate: float
    entropy_beta: float
    floor_beta: float
    teacher_beta: float
    gamma: float
    policy_lag: int  # updates between the weights that acted and those that learned
    num_env_steps: int
    num_optimizer_steps: int
    num_skipped_steps: int  # not applied, because loss or gradient was not finite
    num_pieces: int  # of a minibatch, from --grad-accum or after running out of memory
    num_rollbacks: int  # to the last good state, so far
    loss_replay: float | None = None


# What one optimizer step says of itself, in this order.
AVERAGED = (
    "loss_total", "loss_policy", "loss_value", "entropy", "kl", "clip_fraction", "rho_mean", "explained_variance",
    "advantage_std", "teacher_kl",
)  # fmt: skip
STEP_NUMBERS = (*AVERAGED, "log_rho_max", "grad_norm", "is_skipped")


class Tally:
    """The numbers of an update's steps, kept where they are computed: reading them is what makes a GPU wait, so it is
    done once."""

    def __init__(self) -> None:
        self._steps: list[Tensor] = []
        self._is_replayed: list[bool] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, numbers: Tensor, *, is_replayed: bool = False) -> None:
        """[len(STEP_NUMBERS)] of one more step."""
        self._steps.append(numbers)
        self._is_replayed.append(is_replayed)

    def read(self) -> dict[str, float]:
        """Of the whole update, by the names of `UpdateStats`, in one transfer from the device."""
        rows = torch.stack(self._steps)
        wait_for_device(rows.device)
        rows = rows.cpu().double()
        is_replayed = torch.tensor(self._is_replayed)
        fresh, replayed = rows[~is_replayed], rows[is_replayed]
        applied = rows[_column(rows, "is_skipped") == 0]
        numbers = dict(zip(AVERAGED, fresh.mean(0).tolist(), strict=False))
        numbers["first_log_rho_max"] = float(_column(fresh, "log_rho_max")[0])
        numbers["grad_norm"] = float(_column(applied, "grad_norm").mean()) if len(applied) else 0.0
        numbers["num_skipped_steps"] = len(rows) - len(applied)
        if len(replayed):
            numbers["loss_replay"] = float(_column(replayed, "loss_total").mean())
        return numbers


def _column(rows: Tensor, name: str) -> Tensor:
    return rows[:, STEP_NUMBERS.index(name)]
