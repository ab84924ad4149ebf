"""What every collector offers, whatever threads or processes it has."""

from typing import Protocol

from mario_a3c.acting.actor import Weights
from mario_a3c.experience.rollout import Rollout
from mario_a3c.stateful import State


class Collector(Protocol):
    """Yields rollouts, each good until the next one is asked for."""

    policy_lag: int
    """How many updates older the weights that act are than those that learn."""

    def warm_up(self) -> Rollout:
        """Compiles what acting needs, before the first step; a rollout with nothing in it, to learn nothing from."""
        ...

    def next_rollout(self) -> Rollout: ...

    def publish(self, weights: Weights) -> None:
        """Weights to act with from the next rollout on that is begun."""
        ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...

    def close(self) -> None: ...
