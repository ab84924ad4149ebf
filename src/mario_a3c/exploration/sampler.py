"""Where the episodes of a run begin: starts of stages and states along their ways, and how often each is drawn."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.errors import CheckpointError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.exploration.curriculum import BackwardStarts, ClearRate, Counts, LearnableStages, Outcomes, SpreadStarts
from mario_a3c.exploration.deaths import RecentDeaths
from mario_a3c.exploration.power_ups import PowerStarts
from mario_a3c.exploration.starts import StartTable
from mario_a3c.stateful import State

_SHOWN_EPISODES = 100


class StartShares(Protocol):
    """How often each start is drawn, of the episodes of its stage."""

    def observe(self, outcomes: Outcomes) -> None: ...

    def shares(self) -> Counts: ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


class StageWeights(Protocol):
    """How often each stage is played; they sum to 1."""

    def observe(self, outcomes: Outcomes) -> None: ...

    def weights(self) -> Counts: ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


class FixedShares:
    """As the config says, from the first episode to the last. Where a third of a way has no states, its share is the
    stage's own start's. `StartShares`."""

    def __init__(self, config: StartConfig, table: StartTable) -> None:
        third = np.minimum((table.share * 3).astype(np.int64), 2)
        self._shares: Counts = np.zeros(len(table.starts))
        for number, share in enumerate(config.thirds):
            chosen = (third == number) & (table.position > 0)
            of_stage = np.bincount(table.stage, chosen)
            self._shares += np.where(chosen, share / np.maximum(of_stage, 1)[table.stage], 0.0)
        along = np.bincount(table.stage, self._shares)
        self._shares[table.position == 0] = np.maximum(0.0, 1.0 - along)

    def observe(self, outcomes: Outcomes) -> None:
        pass

    def shares(self) -> Counts:
        return self._shares

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


class EvenStages:
    """All as often. `StageWeights`."""

    def __init__(self, num_stages: int) -> None:
        self._weights = np.full(num_stages, 1.0 / num_stages)

    def observe(self, outcomes: Outcomes) -> None:
        pass

    def weights(self) -> Counts:
        return self._weights

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


def _choose_shares(table: StartTable, starts: StartConfig, curriculum: CurriculumConfig) -> StartShares:
    if not curriculum.moves_starts:
        return FixedShares(starts, table)
    order = BackwardStarts if curriculum.start_order == "backward" else SpreadStarts
    return order(curriculum, table)


class StartSampler:
    """Draws are the environments' own; this says how often each start is drawn, from one rollout to the next."""

    def __init__(
        self, table: StartTable, starts: StartConfig, curriculum: CurriculumConfig, power: PowerStarts | None = None
    ) -> None:
        self.table = table
        self._power = power if power is not None else PowerStarts(0.0, table.stages, {})
        num_stages = len(table.stages)
        self._starts = _choose_shares(table, starts, curriculum)
        self._stages: StageWeights = (
            LearnableStages(curriculum, num_stages) if curriculum.weighs_stages else EvenStages(num_stages)
        )
        self._real_rate = ClearRate(num_stages, _SHOWN_EPISODES)
        self.deaths = RecentDeaths(curriculum.death_starts, table.stages) if curriculum.death_starts else None

    def starts(self) -> list[StartState]:
        """For `MarioBatch.set_starts`: those of the table, those before mushrooms, then the slots of recent deaths."""
        starts = [*self.table.starts, *self._power.starts]
        if self.deaths is None:
            return starts
        of_stages = {start.stage: start.state for start in (self.table.starts[first] for first in self.table.first)}
        return [*starts, *self.deaths.placeholders(of_stages)]

    @property
    def first_slot(self) -> int:
        """The number of the first slot of recent deaths."""
        return len(self.table.starts) + len(self._power.starts)

    def weights(self) -> Counts:
        """For `MarioBatch.set_weights`: they sum to 1. One for each of `starts`."""
        of_stage, shares = self._stages.weights(), self._starts.shares()
        power, power_stage = self._power.shares(), self._power.stage
        deaths = np.zeros((len(of_stage), 0)) if self.deaths is None else self.deaths.shares()
        left = of_stage * (1.0 - np.bincount(power_stage, power, len(of_stage)) - deaths.sum(1))
        return np.concatenate(
            [left[self.table.stage] * shares, of_stage[power_stage] * power, (of_stage[:, None] * deaths).ravel()]
        )

    def observe(self, episodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Looks at episodes that have ended; returns those of whole stages, which alone say what the agent can."""
        known = (episodes["start"] >= 0) & (episodes["start"] < len(self.table.starts))
        start = episodes["start"][known]
        outcomes = Outcomes(
            self.table.stage[start],
            self.table.position[start],
            episodes["end_reason"][known] == EndReason.FLAG,
            start,
            episodes["progress"][known],
        )
        self._starts.observe(outcomes)
        self._stages.observe(outcomes)
        behind = episodes["start"].astype(np.int64) - len(self.table.starts)
        excerpts = (behind >= 0) & (behind < len(self._power.starts))
        self._power.observe(behind[excerpts], episodes["num_power_ups"][excerpts] > 0)
        if self.deaths is not None:
            slot = episodes["start"].astype(np.int64) - self.first_slot
            self.deaths.observe(slot[slot >= 0], episodes["end_reason"][slot >= 0])
        is_real = outcomes.position == 0
        self._real_rate.count(outcomes.stage[is_real], outcomes.is_clear[is_real])
        return episodes[self.is_whole(episodes)]

    def is_whole(self, episodes: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of them began at the start of their stage; what began where its console stood did. [E]"""
        start = episodes["start"]
        return (start < 0) | np.isin(start, self.table.first)

    def state(self) -> State:
        return {
            "stages": " ".join(map(str, self.table.stages)),
            "starts": self._starts.state(),
            "weights": self._stages.state(),
            "real_rate": self._real_rate.state(),
            "power": self._power.state(),
            **({} if self.deaths is None else {"deaths": self.deaths.state()}),
        }

    def restore(self, state: State) -> None:
        ours = " ".join(map(str, self.table.stages))
        if state["stages"] != ours:
            raise CheckpointError(f"the run was saved with the stages {state['stages']}, now it is to play {ours}")
        self._starts.restore(state["starts"])
        self._stages.restore(state["weights"])
        self._real_rate.restore(state["real_rate"])
        if "power" in state:  # older runs have none
            self._power.restore(state["power"])
        if self.deaths is not None and "deaths" in state:  # a run that had none begins to gather them
            self.deaths.restore(state["deaths"])

    def measures(self) -> dict[str, dict[str, float]]:
        """What the curricula have come to, for the metrics: by the name of the field, then of the stage."""
        return {
            "stage_weights": self._by_stage(self._stages.weights()),
            "stage_starts": self._by_stage(self._earliest()),
            "stage_real_starts": self._by_stage(self._starts.shares()[self.table.first]),
        }

    def __str__(self) -> str:
        """`1-1 from its start, clears 97 %, 3 % of play; 1-2 from 45 % of its way on, clears 10 %, 5 % of play`"""
        weights, starts = self._stages.weights(), self._earliest()
        rates = self._real_rate.clears / np.maximum(self._real_rate.tries, 1.0)
        parts = []
        for stage, start, rate, weight in zip(self.table.stages, starts, rates, weights, strict=True):
            where = f"from {start:.0%} of its way on" if start else "from its start"
            parts.append(f"{stage} {where}, clears {rate:.0%}, {weight:.0%} of episodes")
        return "; ".join(parts)

    def _by_stage(self, numbers: Counts) -> dict[str, float]:
        return {str(stage): float(number) for stage, number in zip(self.table.stages, numbers, strict=True)}

    def _earliest(self) -> Counts:
        """Of each way, where the earliest start along it lies; 0 when all begin at the stage's own. [stages]"""
        along = (self.table.position > 0) & (self._starts.shares() > 0)
        earliest = np.ones(len(self.table.stages))
        np.minimum.at(earliest, self.table.stage[along], self.table.share[along])
        return np.where(earliest < 1.0, earliest, 0.0)
