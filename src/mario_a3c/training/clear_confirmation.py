"""Whether a run may end: the training episodes have come near the clear rate; do fresh ones reach it?

Fresh ones are played with the averaged weights, which are steadier than what trains: see `choose_weights`.
"""

import logging
import math
from collections.abc import Sequence
from typing import NamedTuple

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.config import Mode
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.summary import summarize
from mario_a3c.training.evaluator import Evaluator, Weights

LOG = logging.getLogger("mario.eval")

_CHANCE = 0.05  # that an agent which just clears at the rate, or less often, passes


class ClearRule(NamedTuple):
    """So many episodes, of which few enough fail: an agent of that rate would not have been so good by chance. It is
    asked again and again, and would pass in a lucky moment if the rate itself were enough."""

    rate: float
    num_episodes: int

    @property
    def max_failures(self) -> int:
        """None at all where so few episodes cannot tell."""
        chance = 0.0
        for failures in range(self.num_episodes + 1):
            ways = math.comb(self.num_episodes, failures)
            chance += ways * (1.0 - self.rate) ** failures * self.rate ** (self.num_episodes - failures)
            if chance > _CHANCE:
                return max(0, failures - 1)
        return self.num_episodes

    @property
    def num_clears(self) -> int:
        return self.num_episodes - self.max_failures

    def is_met_by(self, results: Sequence[EpisodeResult]) -> bool:
        """Only all of them say so: failures end sooner than clears, and the first to end are no fair sample."""
        return len(results) == self.num_episodes and num_failures(results) <= self.max_failures

    def is_lost_with(self, results: Sequence[EpisodeResult]) -> bool:
        return num_failures(results) > self.max_failures


def num_failures(results: Sequence[EpisodeResult]) -> int:
    return sum(not each.is_clear for each in results)


def modes_to_confirm(env: MarioEnvConfig) -> tuple[Mode, ...]:
    """What a run trains for, hardest first: the noise of its own environments, and none."""
    noisy: tuple[Mode, ...] = (*(("sticky",) if env.sticky else ()), *(("noop",) if env.noop_max else ()))
    return (*noisy, "sampled")


class ClearConfirmation:
    """Asked between updates; plays about `num_episodes` fresh episodes in each mode, equally many of each stage."""

    def __init__(self, evaluator: Evaluator, rate: float, num_episodes: int, *, episodes_between: int) -> None:
        self._evaluator, self._episodes_between = evaluator, episodes_between
        self._modes = modes_to_confirm(evaluator.config.vector_env.env)
        self._num_each = -(-num_episodes // len(evaluator.place.stages))
        self._rule = ClearRule(rate, self._num_each * len(evaluator.place.stages))
        self._next = 0  # in episodes of the run

    def confirms(self) -> bool:
        """Never twice within `episodes_between` training episodes."""
        evaluator, progress = self._evaluator, self._evaluator.progress
        if progress.num_episodes < self._next:
            return False
        weights = evaluator.weights()
        LOG.info(
            "clear rate %.0f%% of the last %d training episodes after %.1f s; %d fresh ones follow (%s), %s weights",
            100 * progress.clear_rate, progress.window_size, progress.seconds, self._rule.num_episodes,
            ", ".join(self._modes), weights.kind,
        )  # fmt: skip
        is_confirmed = all(self._holds_in(mode, weights) for mode in self._modes)
        self._next = progress.num_episodes + self._episodes_between
        return is_confirmed

    def _holds_in(self, mode: Mode, weights: Weights) -> bool:
        evaluator, rule = self._evaluator, self._rule
        results = evaluator.play((mode,), self._num_each, weights=weights, max_failures=rule.max_failures)
        is_complete = len(results) == rule.num_episodes
        if rule.is_lost_with(results) and not is_complete:
            LOG.info("%d of %d failed: the others are not played", num_failures(results), rule.num_episodes)
        summaries = [each.as_dict() for each in summarize(results)]
        evaluator.note(summaries, evaluator.moment, "confirmation", is_complete=is_complete)
        return rule.is_met_by(results)
