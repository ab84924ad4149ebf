"""Collecting and learning take turns: for laptops, tests and runs that must be the same again to the last bit."""

from collections.abc import Callable

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.slot_writer import SlotWriter
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.rollout import Rollout, RolloutBuffer, RolloutShape
from mario_a3c.stateful import State


class SyncCollector:
    """Yields rollouts of one slot: a rollout is good until the next one is asked for."""

    policy_lag = 0

    def __init__(
        self,
        config: CollectorConfig,
        envs: EnvBatch,
        actor: Actor,
        *,
        frame_stack: int = 4,
        before_rollout: Callable[[], None] | None = None,
    ) -> None:
        """`before_rollout` is called while nobody steps the environments: it may change where episodes begin."""
        self._before_rollout = before_rollout
        self._writer = SlotWriter(envs, actor, frame_stack, config.rollout_steps)
        height, width = envs.observations.shape[2:]
        shape = RolloutShape(config.rollout_steps, envs.num_envs, frame_stack, height, width)
        self._buffer = RolloutBuffer(1, shape, state=actor.memory, device=actor.device)

    def warm_up(self) -> Rollout:
        self._writer.warm_up()
        return self._buffer[0]

    def next_rollout(self) -> Rollout:
        if self._before_rollout is not None:
            self._before_rollout()
        episodes = self._writer.fill(self._buffer[0])
        return self._buffer.seal(0, weights_version=self._writer.actor.weights_version, episodes=episodes)

    def publish(self, weights: Weights) -> None:
        self._writer.actor.load(weights)

    def state(self) -> State:
        return self._writer.state()

    def restore(self, state: State) -> None:
        self._writer.restore(state)

    def close(self) -> None:
        self._writer.envs.close()
