"""Stops whole runs by signals at random moments: `python -m tests.support.stop_runs FOLDER STOPS`.

Each run is forked from a process that has imported everything, goes on from where the one before stopped, and gets its
signal somewhere while it collects, learns or saves.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo  # optimizers import it, which takes seconds: once, not in every run

from mario_a3c.checkpoint.choice import Wanted, choose
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.training.run import run_training
from mario_a3c.training.trainer import Trainer
from tests.support.runs import corridor_config, play_the_corridor
from tests.support.signals import hear_signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_LIFE_SECONDS = 0.6


def main(folder: Path, num_stops: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    hear_signals()
    play_the_corridor(pytest.MonkeyPatch())
    moments = random.Random(0)
    found: dict[str, Any] = {"codes": [], "updates": [], "seconds": [], "leftovers": 0}
    for index in range(num_stops):
        code, seconds = stop_one(folder, moments.uniform(0.0, LONGEST_LIFE_SECONDS), SIGNALS[index % len(SIGNALS)])
        run = folder / "runs" / "corridor"
        found["codes"].append(code)
        found["seconds"].append(seconds)
        found["updates"].append(choose(Wanted(run)).update if list(run.glob("a3c_*.pt")) else 0)
        found["leftovers"] += len(list(run.glob(".*.tmp")))
    return found


def stop_one(folder: Path, life_seconds: float, number: signal.Signals) -> tuple[int, float]:
    """Its exit code, and how long it took to end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 99
        try:
            code = live(folder, writer)
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        pipe.readline()
        time.sleep(life_seconds)
        os.kill(child, number)
        sent = time.monotonic()
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - sent


def live(folder: Path, writer: int) -> int:
    real = Trainer.run

    def run(trainer: Trainer) -> Any:
        os.write(writer, b"running\n")
        return real(trainer)

    pytest.MonkeyPatch().setattr(Trainer, "run", run)
    config = corridor_config(folder, collector=CollectorConfig(rollout_steps=6), total_updates=100_000)
    config = replace(config, run=replace(config.run, save_interval=0.05, log_interval=60.0))
    return int(run_training(config).reason.exit_code)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
