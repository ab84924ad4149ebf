"""Evaluation of a run while it goes on, and at its end.

Every evaluation is a line of `evaluations.jsonl` in the run's folder. The weights of the best one are kept beside it,
as a checkpoint of weights alone. Nothing here draws from a generator that training draws from: a run stays the same.
"""

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.store import save_checkpoint
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.stages import stages_to_play
from mario_a3c.evaluation.arena import MakeArena, MarioArenas
from mario_a3c.evaluation.config import MODES, Mode
from mario_a3c.evaluation.episodes import EpisodeResult, list_episodes
from mario_a3c.evaluation.files import write_json
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import num_cores, play_episodes
from mario_a3c.evaluation.summary import summarize
from mario_a3c.evaluation.videos import Studio
from mario_a3c.learning.learner import Learner
from mario_a3c.models.execution import Execution
from mario_a3c.native.config import RomConfig
from mario_a3c.native.start_states import Stage, start_states
from mario_a3c.run_dir import RunDir
from mario_a3c.training import build
from mario_a3c.training.agent import choose_weights
from mario_a3c.training.build import Training
from mario_a3c.training.child_evaluation import ChildEvaluation
from mario_a3c.training.stopping import StopReason
from mario_a3c.training.trainer import Task
from mario_a3c.video import MISSING, can_write_videos, write_video

LOG = logging.getLogger("mario.eval")

_PLAIN = Execution("cpu", "float32", "none", "evaluation")
CONFIRMING_EPISODES = 200
# From one confirmation to the next, of each environment: with hundreds of them a window is full again in an instant,
# and a run would spend its time with being asked.
_EPISODES_BETWEEN = 2
_ROUNDING = 1e-9  # 0.95 * 100 is a little more than 95
_FINAL_EPISODES = 25
_FINAL_STAGES = 4
_MOST_VIDEO_SHARE = 0.02
_FIRST_VIDEO_SECONDS = 4.0  # of CPU, a guess until the first one is made


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


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """What a run does about evaluation."""

    tasks: Sequence[Task]
    confirms_clear: Callable[[], bool]
    confirm_margin: float
    """How far below the clear rate training episodes may be when it is asked."""
    conclude: Callable[[StopReason], None]


def open_evaluation(
    config: TrainingConfig, training: Training, run_dir: RunDir, metadata: Mapping[str, Any]
) -> RunEvaluation:
    """Nothing at all where it is not the game that is played."""
    place = place_of(config, training)
    if place is None:
        return RunEvaluation((), lambda: True, 0.0, lambda reason: None)
    evaluator = Evaluator(config, training, place, run_dir.path, metadata)
    tasks: list[Task] = []
    is_gpu = torch.device(training.execution.device).type == "cuda"
    if config.evaluation.eval_interval:
        evaluating = EvaluateBeside if is_gpu else EvaluateInTurn
        tasks.append(evaluating(evaluator, config.evaluation.eval_interval))
    if config.evaluation.video_interval and can_film(place):
        tasks.append(FilmEpisodes(evaluator, config.evaluation.video_interval))
    is_confirmed = config.evaluation.confirm_clear
    confirms = evaluator.confirms_clear if is_confirmed else lambda: True
    margin = config.evaluation.confirm_margin if is_confirmed else 0.0

    def conclude(reason: StopReason) -> None:
        for task in tasks:
            if isinstance(task, EvaluateBeside):
                task.close()
        if config.evaluation.final_evaluation and reason is StopReason.CLEARED:
            evaluator.conclude()

    return RunEvaluation(tasks, confirms, margin, conclude)


def place_of(config: TrainingConfig, training: Training) -> Place | None:
    envs = training.envs[0]
    if not isinstance(envs, MarioBatch):
        return None
    cache = CacheDir.open(config.cache)
    env = config.vector_env.env
    is_gpu = torch.device(training.execution.device).type == "cuda"
    rom = RomConfig(rom=envs.rom.path, allow_unknown_rom=True)
    arenas = MarioArenas(env, rom, config.engine, cache, num_threads=num_cores() if is_gpu else 1)
    studio = Studio(envs.rom, config.engine.engine, cache, start_states(envs.rom, cache), env)
    return Place(arenas, stages_to_play(env, envs.rom), studio)


def can_film(place: Place) -> bool:
    if place.studio is not None and not can_write_videos():
        LOG.warning("no videos: %s", MISSING)
        return False
    return place.studio is not None


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
        self._next_confirmation = 0  # in episodes of the run
        self._best = best_so_far(folder)

    def play(
        self,
        modes: Sequence[Mode],
        num_episodes: int,
        *,
        with_traces: bool = False,
        stages: Sequence[Stage] | None = None,
        max_failures: int | None = None,
    ) -> list[EpisodeResult]:
        """Fresh episodes: their seed is the number of updates, so that no evaluation sees those of another.

        With more failures than `max_failures` the rest is not played: the result is then known.
        """
        if self._player is None:
            model = build.make_model(self.config, self._training.model_config, _PLAIN, self._training.envs[0])
            self._player = NetworkPlayer(model, torch.device(self._training.execution.device))
        tensors, _ = self.weights()
        self._player.model.load_state_dict(tensors)
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

    def weights(self) -> tuple[Mapping[str, Tensor], str]:
        """Averaged or last, as `mario eval` takes them from a checkpoint, and which of them."""
        return choose_weights(self.learner_state(), self.config, "auto")

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
                "update %s, %s %s: %d of %d cleared (%.0f%% to %.0f%%), return %.2f, progress %s pixels",
                f"{moment.update:,}", each["stage"], each["mode"], each["num_clears"], each["num_episodes"],
                100 * each["clear_rate_low"], 100 * each["clear_rate_high"], each["mean_return"],
                f"{each['mean_progress']:,.0f}",
            )  # fmt: skip
        return rate

    def keep_if_best(self, rate: float, progress: float, state: Mapping[str, Any], moment: Moment) -> None:
        """More clears are better; without any, more progress is."""
        if (rate, progress) <= self._best:
            return
        self._best = (rate, progress)
        evaluated = {"evaluated_clear_rate": rate, "evaluated_progress": progress}
        save_checkpoint(best_path(self.folder), {"learner": state}, {**self.metadata, **moment._asdict(), **evaluated})

    def confirms_clear(self) -> bool:
        """The training episodes have come near the rate; do fresh ones with the weights of now reach it?

        Those are the averaged weights, which are steadier than what trains: see `choose_weights`.
        """
        rate = self.config.budget.clear_rate_to_reach
        assert rate is not None
        if self.progress.num_episodes < self._next_confirmation:
            return False
        LOG.info(
            "clear rate %.0f%% of the last %d training episodes after %.1f s; %d fresh ones follow, %s weights",
            100 * self.progress.clear_rate, self.progress.window_size, self.progress.seconds, CONFIRMING_EPISODES,
            self.weights()[1],
        )  # fmt: skip
        num_each = -(-CONFIRMING_EPISODES // len(self.place.stages))
        num_all = num_each * len(self.place.stages)
        max_failures = num_all - math.ceil(rate * num_all - _ROUNDING)
        results = self.play(("sampled",), num_each, max_failures=max_failures)
        num_failures = sum(not each.is_clear for each in results)
        is_complete = len(results) == num_all
        if num_failures > max_failures and not is_complete:
            LOG.info("%d of %d failed: the others are not played", num_failures, num_all)
        summaries = [each.as_dict() for each in summarize(results)]
        self.note(summaries, self.moment, "confirmation", is_complete=is_complete)
        self._next_confirmation = self.progress.num_episodes + max(
            self.config.budget.clear_window, _EPISODES_BETWEEN * self.config.vector_env.num_envs
        )
        return is_complete and num_failures <= max_failures

    def conclude(self) -> None:
        """The four modes, a few episodes each, and a video."""
        stages = self.place.stages[:_FINAL_STAGES]
        LOG.info(
            "what it can do: %d episodes each of %s, in %d modes (--no-final-evaluation leaves this out)",
            _FINAL_EPISODES, ", ".join(map(str, stages)), len(MODES),
        )  # fmt: skip
        results = self.play(MODES, _FINAL_EPISODES, with_traces=True, stages=stages)
        summaries = [each.as_dict() for each in summarize(results)]
        if not summaries:
            return
        self.note(summaries, self.moment, "final")
        write_json(
            self.folder / "evaluation.json", results, {"run": self.folder.name, "update": self.progress.num_updates}
        )
        if self.place.studio is not None and can_film(self.place):
            for stage in stages:
                self.film(best_of([each for each in results if each.spec.stage == stage]), f"{stage}_final")

    def film(self, result: EpisodeResult, name: str) -> Path:
        assert self.place.studio is not None
        path = self.folder / "videos" / f"{name}.mp4"
        write_video(path, self.place.studio.film(result, with_overlay=True), frames_per_second=60, scale=2)
        LOG.info("video of a %s episode that ended with %s: %s", result.spec.mode, result.end_reason, path)
        return path


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


def best_of(results: Sequence[EpisodeResult]) -> EpisodeResult:
    """A clear in the hardest mode that has one; else whoever came furthest."""
    return max(
        results, key=lambda each: (each.is_clear, MODES.index(each.spec.mode) if each.is_clear else 0, each.progress)
    )


class EvaluateInTurn:
    """Every so many updates, between two of them. A `Task`."""

    phase = "evaluating"

    def __init__(self, evaluator: Evaluator, interval: int) -> None:
        self._evaluator, self._interval = evaluator, interval

    def run_if_due(self) -> None:
        evaluator, moment = self._evaluator, self._evaluator.moment
        if moment.update % self._interval:
            return
        summaries = summarize(evaluator.play(("sampled",), evaluator.config.evaluation.eval_episodes))
        if summaries:
            keep(evaluator, [each.as_dict() for each in summaries], evaluator.learner_state(), moment)


class EvaluateBeside:
    """Every so many updates, by a process of its own on the CPU: training on a GPU goes on meanwhile. A `Task`."""

    phase = "evaluating"

    def __init__(self, evaluator: Evaluator, interval: int) -> None:
        self._evaluator, self._interval = evaluator, interval
        self._running: ChildEvaluation | None = None
        self._state: Mapping[str, Any] = {}
        self._moment = evaluator.moment

    def run_if_due(self) -> None:
        self._take_result()
        evaluator, moment = self._evaluator, self._evaluator.moment
        if moment.update % self._interval or self._running is not None:
            return  # one at a time: what is too slow is done less often
        self._state, self._moment = evaluator.learner_state(), moment
        self._running = ChildEvaluation.start(
            evaluator.folder, moment.update, self._state, evaluator.metadata,
            rom=evaluator.place.studio.rom.path if evaluator.place.studio else None,
            cache_dir=evaluator.place.studio.cache.root if evaluator.place.studio else None,
            num_episodes=evaluator.config.evaluation.eval_episodes, seed=evaluator.seed,
        )  # fmt: skip

    def close(self) -> None:
        """What is under way is waited for: a run that ends has nothing better to do."""
        if self._running is not None:
            LOG.info("waiting for the evaluation of update %s", f"{self._running.update:,}")
            self._running.wait()
            self._take_result()

    def _take_result(self) -> None:
        if self._running is None or not self._running.is_done:
            return
        child, self._running = self._running, None
        summaries = child.result()
        if summaries:
            keep(self._evaluator, summaries, self._state, self._moment)


def keep(
    evaluator: Evaluator, summaries: Sequence[Mapping[str, Any]], state: Mapping[str, Any], moment: Moment
) -> None:
    rate = evaluator.note(summaries, moment, "interval")
    progress = sum(each["mean_progress"] for each in summaries) / len(summaries)
    evaluator.keep_if_best(rate, progress, state, moment)


class FilmEpisodes:
    """A video of an episode every so many updates, where it takes no more than 2 % of the CPU's time. A `Task`."""

    phase = "filming"

    def __init__(self, evaluator: Evaluator, interval: int) -> None:
        self._evaluator, self._interval = evaluator, interval
        self._started = time.process_time()
        self._spent, self._last = 0.0, _FIRST_VIDEO_SECONDS
        self._is_owed = False

    def run_if_due(self) -> None:
        update = self._evaluator.progress.num_updates
        self._is_owed = self._is_owed or update % self._interval == 0
        if not self._is_owed or not self._can_afford():
            return
        self._is_owed = False
        began = time.process_time()
        results = self._evaluator.play(("sampled",), 1, with_traces=True, stages=self._evaluator.place.stages[:1])
        if results:
            self._evaluator.film(results[0], f"update_{update:07d}")
        self._last = time.process_time() - began
        self._spent += self._last

    def _can_afford(self) -> bool:
        return self._spent + self._last <= _MOST_VIDEO_SHARE * (time.process_time() - self._started + self._last)
