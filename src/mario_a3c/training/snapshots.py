"""Checkpoints of a run: what is in them, when they are written, which are kept."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.checkpoint.retention import remove, superfluous
from mario_a3c.checkpoint.sidecar import read_sidecar, sidecar_of
from mario_a3c.checkpoint.store import Packed, pack, write_checkpoint
from mario_a3c.durable_file import link_to, sync_folder
from mario_a3c.errors import NumericsError, StorageError
from mario_a3c.training.trainer import Trainer

LOG = logging.getLogger("mario.checkpoint")

MOST_FAILURES = 3  # in a row


class SaveCheckpoints:
    """Writes the state after the last complete update into the run's folder, at most once per update. A `Task`.

    Training waits for the copy of the state alone; a thread writes it. One save is under way at most: while it is, the
    next one has to wait. A disk that fails is tried again at the next interval, three times in all.
    """

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
        self._num_failures = 0
        self._best_rate = best_rate(names, folder)
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._under_way: Future[Path] | None = None
        self._update_under_way = 0

    def run_if_due(self) -> None:
        """Raises StorageError after the third failure in a row."""
        if self._under_way is not None and self._under_way.done():
            self._finish()
        if self._under_way is None and time.monotonic() >= self._next:
            self._begin(self._trainer.parts.state)

    def save(self) -> Path | None:
        """Now, and waits for it: the checkpoint, or None where there is nothing new since the last one."""
        if self._under_way is not None:
            self._finish()
        self._begin(self._trainer.parts.state)
        return None if self._under_way is None else self._finish(is_last=True)

    def save_last_complete(self) -> None:
        """After something went wrong in the middle of an update: what can be saved is, and what cannot is said."""
        try:
            if self._under_way is not None:
                self._finish()
            self._begin(self._trainer.last_complete_state)
            if self._under_way is not None:
                self._finish(is_last=True)
        except (StorageError, NumericsError) as error:
            LOG.error("%s", error)  # noqa: TRY400 -- what went wrong before is what the run ends with

    def close(self) -> None:
        self._writer.shutdown()

    def _begin(self, state: Callable[[], Mapping[str, Any]]) -> None:
        progress = self._trainer.parts.progress
        self._next = time.monotonic() + self._interval
        if progress.num_updates == self._saved_update:
            return
        metadata = {
            **self._metadata,
            "kind": "run",
            "update": progress.num_updates,
            "global_step": progress.num_steps,
            "num_episodes": progress.num_episodes,
            "seconds": progress.seconds,
            "clear_rate": progress.clear_rate,
            "clear_rate_episodes": progress.window_size,
            "saved_at": time.time(),
        }
        is_best = progress.is_window_full and progress.clear_rate > 0 and progress.clear_rate >= self._best_rate
        packed = pack(state())
        self._update_under_way = progress.num_updates
        self._under_way = self._writer.submit(self._write, packed, metadata, is_best)

    def _write(self, packed: Packed, metadata: Mapping[str, Any], is_best: bool) -> Path:
        expect_finite(packed)
        path = save_model_snapshot(self._folder, self._names, lambda: packed, metadata, is_best=is_best)
        if is_best:
            self._best_rate = metadata["clear_rate"]
        remove(superfluous(self._folder, self._names, self._num_kept))
        return path

    def _finish(self, *, is_last: bool = False) -> Path | None:
        assert self._under_way is not None
        try:
            path = self._under_way.result()
        except StorageError as error:
            self._num_failures += 1
            if is_last or self._num_failures == MOST_FAILURES:
                raise StorageError(f"{error}; {self._last_good()}") from error
            LOG.warning("not saved, next try in %.0f s: %s; %s", self._interval, error, self._last_good())
            return None
        finally:
            self._under_way = None
        self._num_failures = 0
        self._saved_update = self._update_under_way
        return path

    def _last_good(self) -> str:
        latest = self._names.latest(self._folder)
        return f"the last good checkpoint is {latest.resolve()}" if latest.exists() else "there is no checkpoint yet"


def save_model_snapshot(
    folder: Path,
    names: CheckpointNames,
    state: Callable[[], Mapping[str, Any] | Packed],
    metadata: Mapping[str, Any],
    variant: str = "latest",
    *,
    is_best: bool = False,
) -> Path:
    """Writes the checkpoint of `metadata["update"]`, if it is not there yet, and makes `latest` lead to it, here and
    beside all runs. When this returns, everything is on disk."""
    path = names.numbered(folder, metadata["update"])
    described = read_sidecar(path) or {}
    if described.get("update") == metadata["update"] and described.get("run_id") == metadata.get("run_id"):
        return path
    write_checkpoint(path, state(), metadata)
    links = [names.latest(folder)] if variant == "latest" else []
    links += [names.best(folder)] if is_best else []
    for link in links:
        _link_both(link, path)
    sync_folder(folder)
    if variant == "latest":
        _link_both(names.latest(folder.parent), names.latest(folder))
        sync_folder(folder.parent)
    LOG.info("saved %s%s", path, ", the best so far" if is_best else "")
    return path


def best_rate(names: CheckpointNames, folder: Path) -> float:
    """The clear rate of the checkpoint that `best` leads to."""
    best = names.best(folder)
    described = read_sidecar(best.resolve()) if best.is_file() else None
    rate = (described or {}).get("clear_rate")
    return float(rate) if isinstance(rate, int | float) else 0.0


def expect_finite(packed: Packed) -> None:
    """No checkpoint ever holds weights that are not numbers."""
    for name, tensor in packed.tensors.items():
        if name.startswith("learner.model.") and not bool(torch.isfinite(tensor).all()):
            raise NumericsError(f"{name} is not finite: nothing was saved, the checkpoint before is still there")


def _link_both(link: Path, target: Path) -> None:
    link_to(sidecar_of(link), sidecar_of(target))
    link_to(link, target)
