"""Starts shortly before the agent died: what it has not mastered is played again at once, in many ways.

An agent that clears nine episodes in ten meets the tenth's trouble once in some thousand steps, whatever it is. From a
state a second or two before, it meets it in every episode; and an episode that is over then costs no more than that.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.mario_batch import MarioBatch, StartState, stage_of_level
from mario_a3c.exploration.curriculum import ClearRate, Counts
from mario_a3c.native.start_states import Stage
from mario_a3c.stateful import State

EXCERPT_STEPS = 64
SLOTS = 16  # states of each stage, the oldest makes room
_FEWEST_STEPS, _MOST_STEPS = 12, 32  # from the state to the death: less, and nothing can be done about it
_SLOT_EPISODES = 10
_WATCHED = 32  # environments of a batch: a state is 25 KB, and takes some 40 microseconds


class RecentDeaths:
    """Where the agent was shortly before it died, by stage, and how often it came through from there since."""

    def __init__(self, share: float, stages: tuple[Stage, ...]) -> None:
        """`share` is that of the episodes which begin there, as soon as there is a state."""
        self._share, self._stages = share, stages
        self._states: list[bytes | None] = [None] * (len(stages) * SLOTS)
        self._next = np.zeros(len(stages), np.int64)
        self._rate = ClearRate(len(self._states), _SLOT_EPISODES)
        self._changed: set[int] = set()

    def placeholders(self, stage_starts: dict[Stage, bytes]) -> list[StartState]:
        """One for every slot, for `MarioBatch.set_starts`: at the start of its stage until there is a state."""
        return [
            StartState(stage, stage_starts[stage], f"{stage} before a death", excerpt_steps=EXCERPT_STEPS)
            for stage in self._stages
            for _ in range(SLOTS)
        ]

    def add(self, stage: Stage, state: bytes) -> None:
        number = self._stages.index(stage)
        slot = number * SLOTS + int(self._next[number]) % SLOTS
        self._next[number] += 1
        self._states[slot] = state
        self._rate.forget(np.arange(len(self._states)) == slot)
        self._changed.add(slot)

    def take_changed(self) -> dict[int, bytes]:
        """Slots with another state than when this was asked last."""
        changed = {slot: state for slot in sorted(self._changed) if (state := self._states[slot]) is not None}
        self._changed.clear()
        return changed

    def observe(self, slot: npt.NDArray[np.int64], end_reason: npt.NDArray[np.int32]) -> None:
        """Excerpts that have ended. To be cut is to have come through, to stand still is not. [E] each"""
        self._rate.count(slot, np.isin(end_reason, (EndReason.FLAG, EndReason.TIME_LIMIT)))

    def shares(self) -> Counts:
        """How often each is drawn, of the episodes of its stage: more where the outcome is open. [stages, slots]"""
        has_state = np.array([state is not None for state in self._states])
        wanted = np.where(has_state, self._rate.learnable(), 0.0).reshape(-1, SLOTS)
        shares: Counts = self._share * wanted / np.maximum(wanted.sum(1, keepdims=True), 1e-9)
        return shares

    def state(self) -> State:
        filled = [slot for slot, state in enumerate(self._states) if state is not None]
        states = [np.frombuffer(self._states[slot] or b"", np.uint8) for slot in filled]
        return {
            "slots": np.array(filled, np.int64),
            "states": np.stack(states) if states else np.zeros((0, 0), np.uint8),
            "next": self._next.copy(),
            "rate": self._rate.state(),
        }

    def restore(self, state: State) -> None:
        self._states = [None] * len(self._states)
        for slot, saved in zip(np.asarray(state["slots"]).tolist(), np.asarray(state["states"]), strict=True):
            self._states[slot] = saved.tobytes()
            self._changed.add(slot)
        self._next[:] = state["next"]
        self._rate.restore(state["rate"])


class Kept(NamedTuple):
    """Where an environment stood when a rollout began."""

    state: bytes
    number: int  # of its episode
    num_steps: int  # of that episode, until then


class DeathWatch:
    """Keeps where some environments of a batch stand when a rollout begins, until it is known who died in it.

    What is kept is not saved: a run that goes on misses the deaths of one rollout.
    """

    def __init__(self, batch: MarioBatch, deaths: RecentDeaths) -> None:
        self._batch, self._deaths = batch, deaths
        self._kept: dict[int, Kept] = {}  # by environment

    def look(self) -> None:
        """While nobody steps the environments."""
        for env, kept in self._kept.items():
            final = self._batch.final_episodes[env]
            is_death = final["number"] == kept.number and final["end_reason"] == EndReason.DEATH
            if is_death and _FEWEST_STEPS <= int(final["num_steps"]) - kept.num_steps <= _MOST_STEPS:
                self._deaths.add(stage_of_level(int(final["level"])), kept.state)
        self._kept = {}
        episodes: npt.NDArray[Any] = self._batch.episodes
        every = -(-self._batch.num_envs // _WATCHED)
        # By the number of its episode each environment has its turn.
        for env in np.flatnonzero((np.arange(len(episodes)) + episodes["number"]) % every == 0).tolist():
            number, num_steps = int(episodes["number"][env]), int(episodes["num_steps"][env])
            self._kept[env] = Kept(self._batch.console_state(env), number, num_steps)
