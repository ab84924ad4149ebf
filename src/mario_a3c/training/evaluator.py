"""Plays episodes with the weights that a run has now, and keeps the results.

Every evaluation is a line of `evaluations.jsonl` in the run's folder. The weights of the best one are kept beside it,
as a checkpoint of weights alone. Nothing here draws from a generator that training draws from: a run stays the same.
"""

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mario_a3c.checkpoint.store import save_checkpoint
from mario_a3c.config import TrainingConfig
from mario_a3c.evaluation.arena import MakeArena
from mario_a3c.evaluation.config import PROGRESS_UNIT, Mode
from mario_a3c.evaluation.episodes import EpisodeResult, list_episodes
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.evaluation.videos import Studio
from mario_a3c.learning.learner import Learner
from mario_a3c.models.execution import Execution
from mario_a3c.native.start_states import Stage
from mario_a3c.training import build
from mario_a3c.training.agent import choose_weights
from mario_a3c.training.build import Training

LOG = logging.getLogger("mario.eval")

_PLAIN = Execution("cpu", "float32", "none", "evaluation")
_GPU_LANES = 512  # all fresh episodes that may end a run at once, while it waits


@dataclass(frozen=True, slots=True)
class Place:
    """Where and what a run is evaluated with."""

    make_arena: MakeArena
    stages: Sequence[Stage]
    studio: Studio | None = None  # none where there is nothing to film


class Moment(NamedTuple):
    """When weights were taken from a run. Where they are evaluated beside it, it is further when the result comes."""

    update: int
    global_step: int
    seconds: float


class Weights(NamedTuple):
    """What plays, and which of a run's weights these are."""

    tensors: Mapping[str, Tensor]
    kind: str


class Evaluator:
    """Plays episodes with the weights that a run has now, and keeps the results."""

    def __init__(
        self, config: TrainingConfig, training: Training, place: Place, folder: Path, metadata: Mapping[str, Any]
    ) -> None:
        self.config, self.place, self.folder, self.metadata = config, place, folder, metadata
        self.progress = training.trainer.parts.progress
        self._training = training
        self._learner: Learner = training.trainer.parts.learner
        self._player: NetworkPlayer | None = None  # made when it is first needed
        self._best = best_so_far(folder)

    def play(
        self,
        modes: Sequence[Mode],
        num_episodes: int,
        *,
        with_traces: bool = False,
        stages: Sequence[Stage] | None = None,
        weights: Weights | None = None,
        max_failures: int | None = None,
    ) -> list[EpisodeResult]:
        """Fresh episodes: their seed is the number of updates, so that no evaluation sees those of another.

        They are played with the weights of now where none are given. With more failures than `max_failures` the rest is
        not played: the result is then known.
        """
        if self._player is None:
            model = build.make_model(self.config, self._training.model_config, _PLAIN, self._training.envs[0])
            device = torch.device(self._training.execution.device)
            self._player = NetworkPlayer(model, device, _GPU_LANES if device.type == "cuda" else None)
        self._player.model.load_state_dict((weights or self.weights()).tensors)
        specs = list_episodes(stages or self.place.stages, modes, num_episodes)
        stop, failures = self._training.trainer.stop, FailureCount(max_failures)
        return play_episodes(
            self._player, self.place.make_arena, specs,
            seed=self.seed, with_traces=with_traces,
            on_episode=failures.count, should_stop=lambda: stop.is_set or failures.are_too_many,
        )  # fmt: skip

    @property
    def moment(self) -> Moment:
        return Moment(self.progress.num_updates, self.progress.num_steps, self.progress.seconds)

    @property
    def seed(self) -> int:
        return self.config.vector_env.seed + 1_000_003 * self.progress.num_updates

    def weights(self) -> Weights:
        """Of now."""
        return self.weights_in(self.learner_state())

    def weights_in(self, learner_state: Mapping[str, Any]) -> Weights:
        """Averaged or last, as `mario eval` takes them from a checkpoint."""
        return Weights(*choose_weights(learner_state, self.config, "auto"))

    def learner_state(self) -> dict[str, Any]:
        """The part of the learner's state that can play."""
        averaged = self._learner.averaged
        model = {name: each.detach().clone() for name, each in self._learner.model.named_parameters()}
        return {"model": model, "averaged": {} if averaged is None else averaged.state()}

    def note(
        self, summaries: Sequence[Mapping[str, Any]], moment: Moment, kind: str, *, is_complete: bool = True
    ) -> float:
        """Writes an evaluation of a moment's weights down; its clear rate, over all stages. What was stopped early has
        none in the file: failures end sooner than clears, so that the episodes which had ended by then say too little.
        """
        num_episodes = sum(each["num_episodes"] for each in summaries)
        rate = float(sum(each["num_clears"] for each in summaries) / max(1, num_episodes))
        record = {
            "update": moment.update, "kind": kind, "time": time.time(), "seconds": moment.seconds,
            "global_step": moment.global_step, "clear_rate": rate if is_complete else None,
            "is_complete": is_complete, "summaries": list(summaries),
        }  # fmt: skip
        with open(self.folder / "evaluations.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        for each in summaries:
            LOG.info(
                "update %s, %s %s: %d of %d cleared (%.0f%% to %.0f%%), return %.2f, progress %s",
                f"{moment.update:,}", each["stage"], each["mode"], each["num_clears"], each["num_episodes"],
                100 * each["clear_rate_low"], 100 * each["clear_rate_high"], each["mean_return"],
                PROGRESS_UNIT.full_text(each["mean_progress"]),
            )  # fmt: skip
        return rate

    def keep(self, summaries: Sequence[Mapping[str, Any]], state: Mapping[str, Any], moment: Moment) -> None:
        """Writes an evaluation down, and keeps its weights where they are the best so far."""
        rate = self.note(summaries, moment, "interval")
        progress = sum(each["mean_progress"] for each in summaries) / len(summaries)
        self.keep_if_best(rate, progress, state, moment)

    def keep_if_best(self, rate: float, progress: float, state: Mapping[str, Any], moment: Moment) -> None:
        """More clears are better; without any, more progress is."""
        if (rate, progress) <= self._best:
            return
        self._best = (rate, progress)
        evaluated = {"evaluated_clear_rate": rate, "evaluated_progress": progress}
        save_checkpoint(best_path(self.folder), {"learner": state}, {**self.metadata, **moment._asdict(), **evaluated})


class FailureCount:
    """Counts episodes that failed, in whichever thread they end."""

    def __init__(self, most: int | None) -> None:
        self._most, self._num_failures = most, 0
        self._lock = threading.Lock()

    def count(self, result: EpisodeResult) -> None:
        with self._lock:
            self._num_failures += not result.is_clear

    @property
    def are_too_many(self) -> bool:
        return self._most is not None and self._num_failures > self._most


def best_path(folder: Path) -> Path:
    return folder / "evaluated_best.pt"


def best_so_far(folder: Path) -> tuple[float, float]:
    """Clear rate and progress of the weights that are kept."""
    try:
        described = json.loads(best_path(folder).with_suffix(".json").read_text())
        return float(described["evaluated_clear_rate"]), float(described["evaluated_progress"])
    except (OSError, ValueError, KeyError):
        return -1.0, -1.0
