"""How long the environments took to make: a line in the log, and an event for whoever looks afterwards."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.metrics.lines import LineFile, encode

LOG = logging.getLogger("mario.env")

EVENTS_FILE = "env_start.jsonl"  # as environments in processes of their own name it


Group = TypeVar("Group", bound=EnvBatch)


def make_groups(makers: Sequence[Callable[[], Group]]) -> list[Group]:
    """Makes each group of environments; what all and the slowest took is said once, not for hundreds of consoles."""
    groups, seconds = [], []
    for make in makers:
        started = time.monotonic()
        groups.append(make())
        seconds.append(time.monotonic() - started)
    LOG.info(
        "%d environments in %d groups, %.2f s, the slowest group %.2f s",
        sum(group.num_envs for group in groups), len(groups), sum(seconds), max(seconds),
    )  # fmt: skip
    return groups


def record_start(folder: Path, groups: Sequence[EnvBatch], seconds: float) -> None:
    """Appends to `env_start.jsonl`. Where that cannot be written, training begins all the same."""
    event = {"time": time.time(), "event": "ready", "num_envs": sum(group.num_envs for group in groups)}
    file = LineFile(folder / EVENTS_FILE)
    try:
        file.append(encode({**event, "num_groups": len(groups), "seconds": round(seconds, 3)}))
    except OSError as error:
        LOG.warning("cannot write %s: %s", file.path, error.strerror or error)
    finally:
        file.close()
