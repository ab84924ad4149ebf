"""An evaluation in a process of its own, so that training need not wait for it, or share Python's lock with it."""

import contextlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mario_a3c.checkpoint.store import save_checkpoint

LOG = logging.getLogger("mario.eval")

_NICENESS = 10
_MOST_SECONDS = 600.0
_NUM_THREADS = 4


@dataclass(frozen=True, slots=True)
class ChildEvaluation:
    """`mario eval` on the CPU, with weights that were written for it. It gives way to training."""

    update: int
    folder: Path
    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(
        cls,
        folder: Path,
        update: int,
        learner_state: Mapping[str, Any],
        metadata: Mapping[str, Any],
        *,
        rom: Path | None,
        cache_dir: Path | None,
        num_episodes: int,
        seed: int,
    ) -> "ChildEvaluation":
        weights, result = folder / "evaluating.pt", folder / "evaluating_result.json"
        result.unlink(missing_ok=True)
        save_checkpoint(weights, {"learner": learner_state}, {**metadata, "update": update})
        flags: dict[str, Any] = {
            "--checkpoint": weights, "--json": result, "--mode": "sampled",
            "--episodes": num_episodes, "--seed": seed, "--device": "cpu", "--num-threads": _NUM_THREADS,
            "--rom": rom, "--cache-dir": cache_dir,
        }  # fmt: skip
        words = [str(word) for flag, value in flags.items() if value is not None for word in (flag, value)]
        command = [sys.executable, "-m", "mario_a3c", "eval", *words, "--allow-unknown-rom"]
        with open(folder / "evaluating.log", "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            )  # fmt: skip
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        return cls(update, folder, process)

    @property
    def is_done(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> None:
        try:
            self.process.wait(_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def result(self) -> list[dict[str, Any]]:
        """The summaries; none where it failed, which is said and does not end the run."""
        path = self.folder / "evaluating_result.json"
        try:
            summaries: list[dict[str, Any]] = json.loads(path.read_text())["summaries"]
        except (OSError, ValueError, KeyError) as error:
            log, code = self.folder / "evaluating.log", self.process.returncode
            LOG.warning("the evaluation of update %s failed (%s, exit code %s): see %s", self.update, error, code, log)
            return []
        for each in (path, self.folder / "evaluating.pt", self.folder / "evaluating.json"):
            each.unlink(missing_ok=True)
        return summaries
