"""Checkpoints of a run: what is in them, when they are written, which are kept."""

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.checkpoint.store import link_to, save_checkpoint
from mario_a3c.training.trainer import Trainer

LOG = logging.getLogger("mario.checkpoint")


class SaveCheckpoints:
    """Writes the state after the last complete update into the run's folder, at most once per update. A `Task`."""

    phase = "save"  # what the heartbeat says meanwhile

    def __init__(
        self,
        trainer: Trainer,
        names: CheckpointNames,
        folder: Path,
        metadata: Mapping[str, Any],
        *,
        interval_seconds: float,
        num_kept: int,
    ) -> None:
        self._trainer, self._names, self._folder, self._metadata = trainer, names, folder, metadata
        self._interval, self._num_kept = interval_seconds, num_kept
        self._next = time.monotonic() + interval_seconds
        self._saved_update = trainer.parts.progress.num_updates

    def run_if_due(self) -> None:
        if time.monotonic() >= self._next:
            self.save()

    def save(self) -> Path | None:
        """The checkpoint, or None where there is nothing new since the last one."""
        progress = self._trainer.parts.progress
        self._next = time.monotonic() + self._interval
        if progress.num_updates == self._saved_update:
            return None
        metadata = {
            **self._metadata,
            "update": progress.num_updates,
            "global_step": progress.num_steps,
            "clear_rate": progress.clear_rate,
            "saved_at": time.time(),
        }
        path = save_model_snapshot(self._folder, self._names, self._trainer.parts.state, metadata)
        self._saved_update = progress.num_updates
        for old in self._names.all_numbered(self._folder)[: -self._num_kept]:
            old.with_suffix(".json").unlink(missing_ok=True)
            old.unlink(missing_ok=True)
        return path


def save_model_snapshot(
    folder: Path,
    names: CheckpointNames,
    state: Callable[[], Mapping[str, Any]],
    metadata: Mapping[str, Any],
    variant: str = "latest",
) -> Path:
    """Writes the checkpoint of `metadata["update"]`, and makes `latest` lead to it, here and beside all runs."""
    path = save_checkpoint(names.numbered(folder, metadata["update"]), state(), metadata)
    if variant == "latest":
        for suffix in (".json", ".pt"):
            here = names.latest(folder).with_suffix(suffix)
            link_to(here, path.with_suffix(suffix))
            link_to(names.latest(folder.parent).with_suffix(suffix), here)
    LOG.info("saved %s", path)
    return path
