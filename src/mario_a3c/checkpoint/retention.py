"""Which checkpoints are kept: the last ones, the best, and whatever a link leads to."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from mario_a3c.checkpoint.names import CheckpointNames, names_in
from mario_a3c.checkpoint.sidecar import sidecar_of


def superfluous(folder: Path, names: CheckpointNames, num_kept: int) -> list[Path]:
    """Numbered checkpoints that are neither among the last `num_kept` nor what `latest` or `best` lead to."""
    led_to = {link.resolve() for link in (names.latest(folder), names.best(folder))}
    return [path for path in names.all_numbered(folder)[:-num_kept] if path.resolve() not in led_to]


def remove(paths: Sequence[Path]) -> None:
    """With their `.json`, which goes first: one without its checkpoint would speak of nothing."""
    for path in paths:
        for each in (sidecar_of(path), path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each)


def runs_names(folder: Path) -> CheckpointNames | None:
    """A run has one kind of names; None for a folder without checkpoints."""
    found = {names for path in folder.glob("a3c_*.pt") if (names := names_in(path)) is not None}
    return found.pop() if len(found) == 1 else None
