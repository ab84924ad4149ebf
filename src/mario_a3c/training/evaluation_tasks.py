"""Evaluation every so many updates: between two of them, or beside training."""

import logging
from collections.abc import Mapping
from typing import Any

from mario_a3c.evaluation.summary import summarize
from mario_a3c.training.child_evaluation import ChildEvaluation
from mario_a3c.training.evaluator import Evaluator

LOG = logging.getLogger("mario.eval")


class EvaluateInTurn:
    """Every so many updates, between two of them. A `Task`."""

    phase = "evaluating"

    def __init__(self, evaluator: Evaluator, interval: int) -> None:
        self._evaluator, self._interval = evaluator, interval

    def run_if_due(self) -> None:
        evaluator, moment = self._evaluator, self._evaluator.moment
        if moment.update % self._interval:
            return
        state = evaluator.learner_state()
        num_episodes = evaluator.config.evaluation.eval_episodes
        summaries = summarize(evaluator.play(("sampled",), num_episodes, weights=evaluator.weights_in(state)))
        if summaries:
            evaluator.keep([each.as_dict() for each in summaries], state, moment)


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
            self._evaluator.keep(summaries, self._state, self._moment)
