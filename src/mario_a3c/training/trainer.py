"""The loop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mario_a3c.collectors.collector import Collector
from mario_a3c.config.run import BudgetConfig
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.learning.adaptive import AdaptiveControl
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.replayed import update_with_replay
from mario_a3c.learning.stats import UpdateStats
from mario_a3c.stateful import State, Stateful, gather_state, restore_state
from mario_a3c.training.global_random import GlobalRandom
from mario_a3c.training.progress import Progress
from mario_a3c.training.stopping import StopReason, StopRequest, UpdateAbandoned
from mario_a3c.training.timing import Timing

# A shorter update is finished when the run must stop; a longer one is abandoned.
_LONG_UPDATE_SECONDS = 1.0


class Task(Protocol):
    """Something to do now and then: evaluate, save, report."""

    def run_if_due(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What learns together."""

    collector: Collector
    learner: Learner
    progress: Progress
    timing: Timing
    adaptive: AdaptiveControl
    replay: PrioritizedReplay | None = None
    starts: StartSampler | None = None
    can_abandon: bool = True
    """Whether the collector's state before a rollout can be kept while it collects."""

    def state(self) -> State:
        """Everything that the next updates depend on."""
        return gather_state(self._stateful())

    def restore(self, state: State) -> None:
        restore_state(self._stateful(), state)
        self.collector.publish(self.learner.weights())

    def warm_up(self) -> None:
        """Compiles everything, so that no step of the run waits for it."""
        self.learner.warm_up(self.collector.warm_up(), self.collector.policy_lag)

    def close(self) -> None:
        self.collector.close()
        if self.replay is not None:
            self.replay.close()

    def _stateful(self) -> dict[str, Stateful]:
        parts: dict[str, Stateful] = {
            "collector": self.collector,
            "learner": self.learner,
            "progress": self.progress,
            "adaptive": self.adaptive,
            "random": GlobalRandom(),
        }
        optional: dict[str, Stateful | None] = {"replay": self.replay, "starts": self.starts}
        return parts | {name: part for name, part in optional.items() if part is not None}


class Trainer:
    """Collects, learns, publishes, until there is a reason to stop. Everything else is a task in a list."""

    def __init__(self, budget: BudgetConfig, parts: Parts, stop: StopRequest) -> None:
        self.budget, self.parts, self.stop = budget, parts, stop
        self.tasks: Sequence[Task] = ()
        self.confirms_clear: Callable[[], bool] = lambda: True
        """Asked when the training episodes have reached the clear rate, or are below it by no more than this:"""
        self.confirm_margin = 0.0
        self.last_stats: UpdateStats | None = None
        self.last_rollout: Rollout | None = None
        """What was learned from, until the next one is collected."""
        self.last_update_seconds = 0.0
        self._before_update: State | None = None
        self._before_learning: State | None = None
        self._deadline = float("inf")

    def run(self) -> StopReason:
        """Afterwards the parts are in the state after the last complete update."""
        self._deadline = time.monotonic() + (self.budget.max_seconds or float("inf"))
        self._keep_state(update_seconds=float("inf"))
        while (reason := self.reason_to_stop()) is None:
            try:
                self.make_update()
            except UpdateAbandoned:
                assert self._before_update is not None
                self.parts.restore(self._before_update)
            else:
                self.run_due_tasks()
        return reason

    def make_update(self) -> None:
        parts, started = self.parts, time.perf_counter()
        parts.timing.pulse.update_since = time.monotonic()
        with parts.timing.collecting():
            rollout = parts.collector.next_rollout()
        with parts.timing.learning():
            self._before_learning = parts.learner.state() if self._before_update is None else None
            stats = update_with_replay(parts.learner, rollout, parts.replay)
        parts.collector.publish(parts.learner.weights())
        update_seconds = time.perf_counter() - started
        self.record(rollout, stats, update_seconds)
        self._before_learning = None
        self._keep_state(update_seconds)

    def last_complete_state(self) -> State:
        """For when something went wrong, perhaps in the middle of an update: never weights that are half updated.

        What was played since is given up where the state before it was kept, and is simply not learned from elsewhere.
        """
        if self._before_update is not None:
            return self._before_update
        state = dict(self.parts.state())
        return state if self._before_learning is None else {**state, "learner": self._before_learning}

    def record(self, rollout: Rollout, stats: UpdateStats, update_seconds: float) -> None:
        progress = self.parts.progress
        starts = self.parts.starts
        whole = rollout.episodes if starts is None else starts.observe(rollout.episodes)
        progress.record(stats.num_env_steps, whole)
        progress.seconds += update_seconds
        self.last_stats, self.last_rollout, self.last_update_seconds = stats, rollout, update_seconds
        self.parts.adaptive.observe(stats.update, progress.avg_return, progress.clear_rate, stats.entropy)

    def run_due_tasks(self) -> None:
        for task in self.tasks:
            with self.parts.timing.pulse.during(getattr(task, "phase", "tasks")):
                task.run_if_due()

    def reason_to_stop(self) -> StopReason | None:
        budget, progress = self.budget, self.parts.progress
        rate = budget.clear_rate_to_reach
        if self.stop.is_set:
            return StopReason.SIGNAL
        if rate is not None and progress.is_window_full and progress.clear_rate >= rate - self.confirm_margin:
            with self.parts.timing.pulse.during("evaluating"):
                is_confirmed = self.confirms_clear()
            if is_confirmed:
                return StopReason.CLEARED
        if progress.num_updates >= budget.num_updates:
            return StopReason.PLAN if budget.total_updates is None else StopReason.UPDATES
        if budget.max_steps is not None and progress.num_steps >= budget.max_steps:
            return StopReason.STEPS
        return StopReason.SECONDS if self.seconds_left() <= 0 else None

    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def _keep_state(self, update_seconds: float) -> None:
        """Copies what the next update begins with, where that update may have to be abandoned."""
        is_kept = self.parts.can_abandon and update_seconds > _LONG_UPDATE_SECONDS
        self._before_update = self.parts.state() if is_kept else None
        self.stop.can_abandon = is_kept
