"""Kills processes that save, and looks at what they leave: `python -m tests.support.kill_savers FOLDER KILLS`.

One process imports torch; each victim is forked from it, goes on from what the one before left, and makes updates until
it is killed. What it does it says through a pipe, so that it can be held to it.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from mario_a3c.checkpoint import store
from mario_a3c.checkpoint.choice import Wanted, candidates, choose
from mario_a3c.checkpoint.names import OWN_FILES
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.durable_file import remove_leftovers
from mario_a3c.errors import CheckpointError
from mario_a3c.training.snapshots import SaveCheckpoints
from tests.support.checkpoints import NAMES, is_of_update, small_metadata
from tests.support.saving_trainer import SavingTrainer

NUM_VALUES = 500_000  # 2 MB
UPDATES_BETWEEN_SAVES = 3
LONGEST_LIFE = 3.0  # of the time that a save takes here and now, at first
LONGER, SHORTER = 1.5, 0.8  # after a life without a save, and after one with some: two of three have one then


def main(folder: Path, num_kills: int, is_naive: bool) -> dict[str, int]:
    torch.set_num_threads(1)
    folder.mkdir(parents=True)
    moments = random.Random(0)
    counts: Counter[str] = Counter(
        kills=0, kills_while_saving=0, saves=0, leftovers_swept=0,
        unreadable=0, saves_lost=0, intervals_lost=0, silent_restarts=0,
    )  # fmt: skip
    promised = at_least = 0
    longest_life = LONGEST_LIFE * seconds_per_save(folder.with_name("calibration"))
    for _ in range(num_kills):
        events = kill_one(folder, moments.uniform(0.0, longest_life), is_naive)
        begun = [update for kind, update in events if kind == "begin"]
        saved = [update for kind, update in events if kind == "saved"]
        started = next(update for kind, update in events if kind == "start")
        counts["silent_restarts"] += started < promised
        promised = max([promised, *saved])
        # Of two saves that were begun the first is done: there is one at a time.
        at_least = max([at_least, promised, *begun[:-1]])
        counts["kills"] += 1
        counts["kills_while_saving"] += len(begun) > len(saved)
        counts["saves"] += len(saved)
        longest_life *= SHORTER if saved else LONGER  # a machine that gets busier does not go without saves
        look(folder, promised, at_least, counts)
    return dict(counts)


def look(folder: Path, promised: int, at_least: int, counts: Counter[str]) -> None:
    for path in candidates(folder):
        try:
            checkpoint = load_checkpoint(path)
            counts["unreadable"] += not is_of_update(checkpoint.state, checkpoint.metadata["update"])
        except CheckpointError:
            counts["unreadable"] += 1
    found = choose(Wanted(folder)).update if candidates(folder) else 0
    counts["saves_lost"] += found < promised
    counts["intervals_lost"] += found < at_least
    counts["leftovers_swept"] += len(remove_leftovers(folder, OWN_FILES))


def seconds_per_save(folder: Path) -> float:
    """On this machine, with whatever else it does."""
    folder.mkdir()
    trainer: Any = SavingTrainer(0, NUM_VALUES)
    started = time.perf_counter()
    with closing(SaveCheckpoints(trainer, NAMES, folder, small_metadata(0), interval_seconds=1, num_kept=2)) as saving:
        for _ in range(4):
            trainer.make_update()
            saving.save()
    return (time.perf_counter() - started) / 4


def kill_one(folder: Path, life_seconds: float, is_naive: bool) -> list[tuple[str, int]]:
    reader, writer = os.pipe()
    victim = os.fork()
    if victim == 0:
        os.close(reader)
        try:
            live(folder, writer, is_naive)
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as pipe:
        first = pipe.readline()
        time.sleep(life_seconds)
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        lines = [first, *pipe.readlines()]
    return [(kind.decode(), int(number)) for kind, number in (line.split() for line in lines if line.endswith(b"\n"))]


def live(folder: Path, writer: int, is_naive: bool) -> None:
    """A run: goes on from the newest checkpoint, makes updates of some milliseconds, saves every third."""
    if is_naive:
        store.replace_file = write_in_place  # type: ignore[attr-defined]
    start = choose(Wanted(folder)).update if candidates(folder) else 0
    trainer: Any = SavingTrainer(start, NUM_VALUES)
    metadata = small_metadata(0)
    say(writer, "start", start)
    with closing(SaveCheckpoints(trainer, NAMES, folder, metadata, interval_seconds=1e-9, num_kept=2)) as saving:
        said = trainer.progress.num_updates
        while True:
            time.sleep(0.002)
            trainer.make_update()
            if saving._saved_update > said:
                said = saving._saved_update
                say(writer, "saved", said)
            if trainer.progress.num_updates % UPDATES_BETWEEN_SAVES == 0:
                before = saving._under_way
                saving.run_if_due()
                if saving._under_way not in (None, before):
                    say(writer, "begin", saving._update_under_way)


def write_in_place(path: Path, content: bytes, **_: Any) -> None:
    with open(path, "wb", buffering=0) as file:
        for start in range(0, len(content), 1 << 18):
            file.write(content[start : start + (1 << 18)])
            os.fsync(file)


def say(writer: int, kind: str, number: int) -> None:
    os.write(writer, f"{kind} {number}\n".encode())


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), "--naive" in sys.argv)))
