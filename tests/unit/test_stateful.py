from collections.abc import Mapping

import pytest

from mario_a3c.errors import CheckpointError
from mario_a3c.stateful import State, Stateful, gather_state, restore_state


class Counter:
    def __init__(self, count: int) -> None:
        self.count = count

    def state(self) -> State:
        return {"count": self.count}

    def restore(self, state: State) -> None:
        self.count = state["count"]


def test_every_part_gets_its_own_state_back() -> None:
    saved = gather_state({"steps": Counter(3), "episodes": Counter(5)})
    steps, episodes = Counter(0), Counter(0)
    restore_state({"steps": steps, "episodes": episodes}, saved)
    assert (steps.count, episodes.count) == (3, 5)


@pytest.mark.parametrize("saved", [{}, {"steps": {"count": 1}, "replay": {}}])
def test_a_missing_or_unknown_part_is_refused_and_nothing_is_restored(saved: Mapping[str, State]) -> None:
    steps = Counter(7)
    with pytest.raises(CheckpointError, match="does not fit"):
        restore_state({"steps": steps}, saved)
    assert steps.count == 7


def test_an_object_with_both_methods_is_stateful() -> None:
    assert isinstance(Counter(0), Stateful)
    assert not isinstance(object(), Stateful)
