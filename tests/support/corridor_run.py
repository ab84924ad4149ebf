"""A run on the corridor as a program of its own, for tests that kill, freeze or watch it.

python -m tests.support.corridor_run FOLDER [--resume] [--freeze-at UPDATE]
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.learning.learner import Learner
from mario_a3c.training.run import run_training
from tests.support.runs import corridor_config, play_the_corridor, resumed


def freeze_at(update: int) -> None:
    """From then on the learner waits, and says since when."""
    real = Learner.update

    def freeze(learner: Learner, *arguments: Any) -> Any:
        if learner.num_updates == update:
            print(f"frozen {time.time()}", flush=True)
            time.sleep(600)
        return real(learner, *arguments)

    pytest.MonkeyPatch().setattr(Learner, "update", freeze)


def main() -> None:
    folder, flags = Path(sys.argv[1]), sys.argv[2:]
    torch.set_num_threads(1)
    play_the_corridor(pytest.MonkeyPatch())
    if "--freeze-at" in flags:
        freeze_at(int(flags[flags.index("--freeze-at") + 1]))
    config = corridor_config(folder, total_updates=100_000)
    config = replace(config, run=replace(config.run, save_interval=0.05, log_interval=60.0))
    print("ready", flush=True)
    run_training(resumed(config) if "--resume" in flags else config)


if __name__ == "__main__":
    main()
