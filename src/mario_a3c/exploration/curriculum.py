"""Curricula: where episodes begin, and how often each stage is played, by what the agent clears.

Both look at the episodes of a rollout at once and hold a few numbers per stage: with a thousand environments that takes
some tens of microseconds.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mario_a3c.exploration.config import CurriculumConfig
from mario_a3c.exploration.starts import StartTable
from mario_a3c.stateful import State

Counts = npt.NDArray[np.float64]

# Starts that lie beside each other are one step of the curriculum: one of them may be hard by chance, an enemy is near.
_WINDOW = 3
# Of the episodes from along the way, those that begin nearer to the goal than that, so that it is not forgotten.
_NEARER = 0.3
_STAGE_EPISODES = 100  # over which the clear rate of a stage is measured
_PLACE_EPISODES = 20  # the same of a start along the way
_STRETCH = 0.08  # of a way: how far beyond its start an episode has to come
_PLACE_FLOOR = 0.3  # every start along a way is drawn at least so often, of an even share


class Outcomes(NamedTuple):
    """Episodes that have ended. [E] each"""

    stage: npt.NDArray[np.int64]  # an index of the stages that are played
    position: npt.NDArray[np.int64]  # of its start: 0 is the stage's own, larger ones are nearer to the goal
    is_clear: npt.NDArray[np.bool_]
    start: npt.NDArray[np.int64]  # its number in the table
    progress: npt.NDArray[np.float32]  # with a map: the share of the way


class ClearRate:
    """Per stage, or per start, how many of the last episodes reached the flag; older ones fade."""

    def __init__(self, num_kinds: int, num_episodes: int) -> None:
        self.num_episodes = num_episodes
        self.tries: Counts = np.zeros(num_kinds)
        self.clears: Counts = np.zeros(num_kinds)

    def count(self, kind: npt.NDArray[np.int64], is_clear: npt.NDArray[np.bool_]) -> None:
        self.tries += np.bincount(kind, minlength=len(self.tries))
        self.clears += np.bincount(kind[is_clear], minlength=len(self.tries))
        self.clears *= self.num_episodes / np.maximum(self.tries, self.num_episodes)
        np.minimum(self.tries, self.num_episodes, out=self.tries)

    def learnable(self) -> Counts:
        """p (1 - p), largest where there is most to learn (Rutherford et al. 2024); of the unknown, p is one half."""
        rate = (self.clears + 1.0) / (self.tries + 2.0)
        learnable: Counts = rate * (1.0 - rate)
        return learnable

    def is_at_least(self, rate: float) -> npt.NDArray[np.bool_]:
        """False also where too few episodes have ended."""
        return (self.tries >= self.num_episodes) & (self.clears >= rate * self.tries)

    def forget(self, which: npt.NDArray[np.bool_]) -> None:
        self.tries[which] = self.clears[which] = 0.0

    def state(self) -> State:
        return {"tries": self.tries.copy(), "clears": self.clears.copy()}

    def restore(self, state: State) -> None:
        self.tries[:], self.clears[:] = state["tries"], state["clears"]


class SpreadStarts:
    """Episodes begin everywhere along the way, so that all of a stage is learned at once. The more of the episodes from
    its own start reach the flag, the fewer begin elsewhere: none where all of them do, unless some are to stay."""

    def __init__(self, config: CurriculumConfig, table: StartTable) -> None:
        self._real_starts, self._real_starts_final = config.real_starts, config.real_starts_final
        self._stage, self._is_real = table.stage, table.position == 0
        self._num_along = np.bincount(self._stage, ~self._is_real)
        self._rate = ClearRate(len(table.stages), config.clear_rate_episodes)
        self._places = HardPlaces(table) if config.start_order == "focus" else None

    def observe(self, outcomes: Outcomes) -> None:
        is_real = outcomes.position == 0
        self._rate.count(outcomes.stage[is_real], outcomes.is_clear[is_real])
        if self._places is not None:
            self._places.observe(outcomes)

    def shares(self) -> Counts:
        """How often each start is drawn, of the episodes of its stage. [S]"""
        # Episodes that are still missing count as failures: a first lucky clear moves little.
        missed = 1.0 - self._rate.clears / self._rate.num_episodes
        real = self._real_starts_final + (self._real_starts - self._real_starts_final) * missed
        along = np.where(self._num_along > 0, 1.0 - real, 0.0)
        shares: Counts = np.where(self._is_real, (1.0 - along)[self._stage], along[self._stage] * self._parts())
        return shares

    def state(self) -> State:
        return {
            "real_rate": self._rate.state(),
            "places": {} if self._places is None else self._places.state(),
        }

    def restore(self, state: State) -> None:
        self._rate.restore(state["real_rate"])
        if self._places is not None:
            self._places.restore(state["places"])

    def _parts(self) -> Counts:
        """How the starts along each way share what they have together. [S]"""
        even = 1.0 / np.maximum(self._num_along, 1)[self._stage]
        if self._places is None:
            return even
        wanted = np.where(self._is_real, 0.0, self._places.learnable())
        of_stage = np.bincount(self._stage, wanted)[self._stage]
        parts: Counts = _PLACE_FLOOR * even + (1.0 - _PLACE_FLOOR) * wanted / np.maximum(of_stage, 1e-9)
        return parts


class HardPlaces:
    """From which starts the next stretch of the way is mastered sometimes, neither always nor never: an obstacle is
    learned from its far end on, wherever in a stage it is."""

    def __init__(self, table: StartTable) -> None:
        self._goal = table.share + _STRETCH
        self._rate = ClearRate(len(table.starts), _PLACE_EPISODES)

    def observe(self, outcomes: Outcomes) -> None:
        self._rate.count(outcomes.start, outcomes.is_clear | (outcomes.progress >= self._goal[outcomes.start]))

    def learnable(self) -> Counts:
        return self._rate.learnable()

    def state(self) -> State:
        return self._rate.state()

    def restore(self, state: State) -> None:
        if len(state["tries"]) == len(self._rate.tries):  # with other starts along the way: nothing is known yet
            self._rate.restore(state)


class BackwardStarts:
    """Episodes begin near the goal, and further back as they reach it (Salimans & Chen 2018), for each stage by itself.

    The *frontier* is how far back a stage has come: the position of the earliest start along its way that is played. A
    share of the episodes begins at the stage's own start all along; when that is cleared often enough, or the frontier
    has come there, all do, for good. `patience_episodes` see to it that this happens.
    """

    def __init__(self, config: CurriculumConfig, table: StartTable) -> None:
        self._config, self._stage, self._position = config, table.stage, table.position
        num_stages = len(table.stages)
        self.last = np.bincount(self._stage, minlength=num_stages) - 1  # positions: the nearest to the goal
        self.frontier = np.maximum(self.last - (_WINDOW - 1), 0)
        self._rate = ClearRate(num_stages, config.clear_rate_episodes)
        self._real_rate = ClearRate(num_stages, config.clear_rate_episodes)
        self._waited = np.zeros(num_stages, np.int64)

    def observe(self, outcomes: Outcomes) -> None:
        is_real = outcomes.position == 0
        self._real_rate.count(outcomes.stage[is_real], outcomes.is_clear[is_real])
        here = self._is_in_window(outcomes.stage, outcomes.position)
        self._rate.count(outcomes.stage[here], outcomes.is_clear[here])
        self._waited += np.bincount(outcomes.stage[here], minlength=len(self._waited))
        rate = self._config.clear_rate_to_move
        moves = self._rate.is_at_least(rate) | (self._waited >= self._config.patience_episodes)
        self.frontier[moves] = np.maximum(self.frontier[moves] - 1, 0)
        self.frontier[self._real_rate.is_at_least(rate)] = 0
        self._rate.forget(moves)
        self._waited[moves] = 0

    def shares(self) -> Counts:
        """How often each start is drawn, of the episodes of its stage. [S]"""
        is_real = self._position == 0
        frontier = self.frontier[self._stage]
        in_window = self._is_in_window(self._stage, self._position)
        nearer = (self._position >= frontier + _WINDOW) & (frontier > 0)
        along = 1.0 - self._config.real_starts
        has_nearer = np.bincount(self._stage, nearer) > 0
        to_nearer = np.where(has_nearer, _NEARER * along, 0.0)
        shares = self._spread(in_window, along - to_nearer) + self._spread(nearer, to_nearer)
        shares[is_real] = np.where(self.frontier == 0, 1.0, self._config.real_starts)
        return shares

    def state(self) -> State:
        return {
            "frontier": self.frontier.copy(),
            "last": self.last.copy(),
            "waited": self._waited.copy(),
            "rate": self._rate.state(),
            "real_rate": self._real_rate.state(),
        }

    def restore(self, state: State) -> None:
        # With another number of starts along the way: as far as it was.
        self.frontier[:] = np.ceil(np.asarray(state["frontier"]) * (self.last / np.maximum(state["last"], 1)))
        self._waited[:] = state["waited"]
        self._rate.restore(state["rate"])
        self._real_rate.restore(state["real_rate"])

    def _is_in_window(self, stage: npt.NDArray[np.int64], position: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        frontier = self.frontier[stage]
        return (frontier > 0) & (position >= frontier) & (position < frontier + _WINDOW)

    def _spread(self, which: npt.NDArray[np.bool_], share: Counts) -> Counts:
        """A stage's share, evenly over those of its starts that are chosen. [S]"""
        num_chosen = np.bincount(self._stage, which)
        spread: Counts = np.where(which, (share / np.maximum(num_chosen, 1))[self._stage], 0.0)
        return spread


class LearnableStages:
    """Plays those stages more that are cleared sometimes. Every stage keeps a part of its even share, so that none is
    forgotten or given up."""

    def __init__(self, config: CurriculumConfig, num_stages: int) -> None:
        self._floor = config.stage_floor
        self._rate = ClearRate(num_stages, _STAGE_EPISODES)

    def observe(self, outcomes: Outcomes) -> None:
        self._rate.count(outcomes.stage, outcomes.is_clear)

    def weights(self) -> Counts:
        """They sum to 1. [stages]"""
        learnable = self._rate.learnable()
        weights: Counts = self._floor / len(learnable) + (1.0 - self._floor) * learnable / learnable.sum()
        return weights

    def state(self) -> State:
        return self._rate.state()

    def restore(self, state: State) -> None:
        self._rate.restore(state)
