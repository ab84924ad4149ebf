"""When loss or gradients are not finite: skip, go back, slow down, and in the end stop with the evidence."""

import io
import logging
from dataclasses import asdict
from pathlib import Path

import torch

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import NumericsError
from mario_a3c.experience.rollout import TENSORS, Rollout
from mario_a3c.learning.stats import UpdateStats
from mario_a3c.stateful import State

LOG = logging.getLogger("mario.learning")

BAD_UPDATES_BEFORE_ROLLBACK = 3
MOST_ROLLBACKS = 3
GOOD_UPDATES_BETWEEN_COPIES = 50
_SLOW_DOWN = 0.5


class Recovery:
    """Counts bad updates in a row, keeps the last good weights, and knows what to do next."""

    def __init__(self, failure_dir: Path | None) -> None:
        self.lr_scale = 1.0
        self.num_rollbacks = 0
        self._num_bad = self._num_good = 0
        self._failure_dir = failure_dir
        self._good: State = {}

    def remember(self, good: State) -> None:
        self._good = good

    def after_good_update(self, update: int) -> bool:
        """Whether it is time to remember the weights."""
        self._num_bad = 0
        self._num_good += 1
        return self._num_good % GOOD_UPDATES_BETWEEN_COPIES == 0

    def after_bad_update(self, rollout: Rollout, stats: UpdateStats) -> State | None:
        """The weights to go back to, or None to go on. Raises NumericsError when going back has not helped."""
        self._num_bad += 1
        self._num_good = 0
        if self._num_bad < BAD_UPDATES_BEFORE_ROLLBACK:
            return None
        if self.num_rollbacks == MOST_ROLLBACKS:
            raise NumericsError(
                f"update {stats.update}: loss or gradients are not finite, {self._num_bad} updates in a row, though "
                f"learning went back and slowed down {MOST_ROLLBACKS} times; {self._save_evidence(rollout, stats)}; "
                "try a lower --lr, a lower --clip-grad or --no-amp"
            )
        self._num_bad = 0
        self.num_rollbacks += 1
        self.lr_scale *= _SLOW_DOWN
        LOG.warning("update %d: back to the last good weights, learning rate times %g", stats.update, self.lr_scale)
        return self._good

    def state(self) -> State:
        return {"lr_scale": self.lr_scale, "num_rollbacks": self.num_rollbacks, "num_bad": self._num_bad}

    def restore(self, state: State) -> None:
        self.lr_scale, self.num_rollbacks, self._num_bad = state["lr_scale"], state["num_rollbacks"], state["num_bad"]

    def _save_evidence(self, rollout: Rollout, stats: UpdateStats) -> str:
        if self._failure_dir is None:
            return "the batch was not saved, for lack of a folder"
        path = self._failure_dir / f"not_finite_{stats.update:07d}.pt"
        buffer = io.BytesIO()
        tensors = {name: getattr(rollout, name).cpu() for name in TENSORS}
        state = {name: each.cpu() for name, each in rollout.state.items()}
        torch.save({"rollout": tensors, "state": state, "stats": asdict(stats)}, buffer)
        write_durably(path, buffer.getvalue())
        return f"the batch is in {path}"
