"""Why an agent fails: from states shortly before the end, every action is tried many times.

Where all actions fail as often as what the agent would have done, it was lost by then, or it is bad luck. Where another
one fails less often, it has something to learn there.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.env_batch import EndReason, Pixels
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.evaluation.arena import env_of_mode
from mario_a3c.evaluation.config import STICKY_PROBABILITY
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.memories import State, gather_envs
from mario_a3c.native.start_states import Stage

_NOTHING_YET = -1
_STEPS_AFTER = 8  # a fall takes that long
_MOST_SEEDS = 1 << 63

MakeBatch = Callable[[MarioEnvConfig, int], MarioBatch]
"""So many environments of a config, which wait where an episode has ended."""


class Moment(NamedTuple):
    """A step of an episode, before the agent decides."""

    environment: bytes
    memory: State  # of this lane: [1, ...]
    last_action: int
    held: int  # what was held in the step that followed


class Failure(NamedTuple):
    """An episode that did not reach the flag."""

    end_reason: EndReason
    room: int
    x: int
    moments: tuple[Moment, ...]  # its last ones; the last is one step before the end


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be done at a moment, and what comes of it."""

    steps_before: int
    last_action: int | None  # which was held in the step before; None at the start of an episode
    policy: npt.NDArray[np.float64]  # [A]: how likely the agent does it
    failed: npt.NDArray[np.bool_]  # [A, R]: whether the episode was over without a flag soon after
    picture: Pixels

    @property
    def failing(self) -> npt.NDArray[np.float64]:
        """[A]: how often each action fails, if the agent goes on by itself then."""
        shares: npt.NDArray[np.float64] = self.failed.mean(1)
        return shares

    @property
    def as_played(self) -> float:
        return float(self.policy @ self.failing)

    @property
    def best_action(self) -> int:
        return int(self.failing.argmin())

    @property
    def at_best(self) -> float:
        """How often the best action fails. It is chosen by one half of the tries and judged by the other: the best of
        several always looks a little better than it is."""
        halves = np.array_split(self.failed, 2, axis=1)
        one, other = (half.mean(1) for half in halves)
        return float(other[one.argmin()] + one[other.argmin()]) / 2

    @property
    def avoidable(self) -> float:
        return self.as_played - self.at_best

    def as_row(self, actions: Sequence[str]) -> dict[str, Any]:
        return {
            "steps_before": self.steps_before,
            "held": None if self.last_action is None else actions[self.last_action],
            "as_played": round(self.as_played, 4),
            "at_best": round(self.at_best, 4),
            "best_action": actions[self.best_action],
            "policy": {name: round(float(p), 4) for name, p in zip(actions, self.policy, strict=True)},
            "failing": {name: round(float(p), 4) for name, p in zip(actions, self.failing, strict=True)},
        }


class _Lanes:
    """Environments that an agent plays, its actions drawn from the policy. Where they stick is drawn here: environments
    in equal states would draw the same."""

    def __init__(self, model: MarioActorCritic, batch: MarioBatch, rng: np.random.Generator) -> None:
        self.batch, self._model, self._rng = batch, model, rng
        self.memory = model.initial_state(batch.num_envs)
        self.last_actions = np.full(batch.num_envs, _NOTHING_YET)

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        ended: npt.NDArray[np.bool_] = self.batch.terminated | self.batch.truncated
        return ended

    @torch.no_grad()
    def think(self) -> npt.NDArray[np.float64]:
        """[N, A]: how likely each action is now. The memory of what is seen is kept."""
        starts = torch.from_numpy(self.last_actions == _NOTHING_YET)
        output = self._model.step(torch.from_numpy(self.batch.observations), starts, self.memory)
        self.memory = output.state
        policy: npt.NDArray[np.float64] = output.logits.double().softmax(-1).numpy()
        return policy

    def draw(self, policy: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        below = policy.cumsum(1) < self._rng.random((len(policy), 1))
        actions: npt.NDArray[np.int64] = np.minimum(below.sum(1), policy.shape[1] - 1)
        return actions

    def step(self, chosen: npt.NDArray[np.int64]) -> None:
        sticks = (self._rng.random(len(chosen)) < STICKY_PROBABILITY) & (self.last_actions != _NOTHING_YET)
        self.last_actions = np.where(sticks, self.last_actions, chosen)
        self.batch.step(self.last_actions)

    def begin(self, mask: npt.NDArray[np.bool_], stage: Stage) -> None:
        self.batch.reset(mask=mask, stage=stage, seed=self._rng.integers(_MOST_SEEDS, size=len(mask)))
        self.last_actions[mask] = _NOTHING_YET

    def go_to(self, moment: Moment) -> None:
        """Every lane."""
        state = np.frombuffer(moment.environment, np.uint8)
        self.batch.restore({"environments": np.tile(state, (self.batch.num_envs, 1))})
        self.memory = gather_envs(moment.memory, torch.zeros(self.batch.num_envs, dtype=torch.int64))
        self.last_actions = np.full(self.batch.num_envs, moment.last_action)


class FailureFinder:
    """Plays a stage with sticky actions until episodes fail."""

    def __init__(
        self,
        model: MarioActorCritic,
        env: MarioEnvConfig,
        make_batch: MakeBatch,
        *,
        num_moments: int,
        seed: int,
        num_lanes: int = 32,
    ) -> None:
        """Keeps the last `num_moments` steps of each episode."""
        # Sampled, not sticky: what sticks is drawn here.
        batch = make_batch(env_of_mode(env, "sampled"), num_lanes)
        self._lanes = _Lanes(model, batch, np.random.default_rng((seed, 0)))
        self._num_moments = num_moments
        self.num_episodes = self.num_failed = 0

    def find(
        self, stage: Stage, num_failures: int, most_episodes: int, on_episode: Callable[[int], None] = lambda _: None
    ) -> list[Failure]:
        """The first to fail, in the order in which their episodes began; those that were over sooner than `num_moments`
        steps are left out. `on_episode` hears how many were found, whenever an episode ends.

        The order in which they end would not do: whoever fails at once would be found more often than it happens.
        """
        lanes, batch = self._lanes, self._lanes.batch
        passed: list[deque[Moment]] = [deque(maxlen=self._num_moments) for _ in range(batch.num_envs)]
        numbers = np.arange(batch.num_envs)  # of the episodes, as they began
        is_playing = np.ones(batch.num_envs, np.bool_)
        found: dict[int, Failure] = {}
        self.num_episodes, self.num_failed, num_begun = 0, 0, batch.num_envs
        lanes.begin(is_playing, stage)
        while is_playing.any():
            before = [batch.get_state(env) for env in range(batch.num_envs)]
            memory, last_actions = lanes.memory, lanes.last_actions
            lanes.step(lanes.draw(lanes.think()))
            for env, moments in enumerate(passed):
                row = gather_envs(memory, torch.tensor([env]))
                moments.append(Moment(before[env], row, int(last_actions[env]), int(lanes.last_actions[env])))
            ended = lanes.ended & is_playing
            for env in np.flatnonzero(ended).tolist():
                self.num_episodes += 1
                failure = _failure_of(batch, env, passed[env])
                has_failed = failure.end_reason is not EndReason.FLAG
                self.num_failed += has_failed
                if has_failed and len(passed[env]) == self._num_moments:
                    found[numbers[env]] = failure
                passed[env].clear()
                on_episode(len(found))
                if len(found) >= num_failures or num_begun >= most_episodes:
                    is_playing[env] = False
                else:
                    numbers[env], num_begun = num_begun, num_begun + 1
            again = ended & is_playing
            if again.any():
                lanes.begin(again, stage)
        return [found[number] for number in sorted(found)[:num_failures]]


def _failure_of(batch: MarioBatch, env: int, moments: Sequence[Moment]) -> Failure:
    game = batch.final_games[env]
    x = int(np.uint16(game["x"]).view(np.int16))
    return Failure(EndReason(int(batch.final_episodes["end_reason"][env])), int(game["room"]), x, tuple(moments))


class ChoiceTrier:
    """Tries every action at a moment, many times, and lets the agent go on by itself for a while."""

    def __init__(
        self, model: MarioActorCritic, env: MarioEnvConfig, make_batch: MakeBatch, *, num_tries: int, seed: int
    ) -> None:
        self._num_actions, self._num_tries = model.num_actions, num_tries
        batch = make_batch(env_of_mode(env, "sampled"), model.num_actions * num_tries)
        self._lanes = _Lanes(model, batch, np.random.default_rng((seed, 1)))

    def try_at(self, failure: Failure, steps_before: int) -> Choices:
        lanes = self._lanes
        moment = failure.moments[-steps_before]
        lanes.go_to(moment)
        picture = lanes.batch.render(0)
        policy = lanes.think()
        actions = np.repeat(np.arange(self._num_actions), self._num_tries)
        failed, is_over = np.zeros((2, len(policy)), np.bool_)
        for _ in range(steps_before + _STEPS_AFTER):
            lanes.step(actions)
            ends_now = lanes.ended & ~is_over
            failed |= ends_now & (lanes.batch.final_episodes["end_reason"] != EndReason.FLAG)
            is_over |= ends_now
            actions = lanes.draw(lanes.think())
        held = None if moment.last_action == _NOTHING_YET else moment.last_action
        tries = failed.reshape(self._num_actions, self._num_tries)
        return Choices(steps_before, held, policy[0], tries, picture)
