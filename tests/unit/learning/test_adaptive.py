"""The table in `AdaptiveControl`, row by row, and its limits."""

from itertools import pairwise
from typing import Any

import pytest

from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.errors import ConfigError
from mario_a3c.learning.adaptive import AdaptiveControl, Adjustment
from mario_a3c.learning.config import AdaptiveConfig
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor

WINDOW, COOLDOWN = 5, 20


def make_control(**options: Any) -> AdaptiveControl:
    config = AdaptiveConfig(
        **{
            "adaptive": True,
            "adaptive_window": WINDOW,
            "adaptive_cooldown": COOLDOWN,
            "adaptive_factor": 2.0,
            **options,
        }
    )
    return AdaptiveControl(config, ShortTraining(Corridor(4, frame_stack=1), make_network(3)).learner)


def run(
    control: AdaptiveControl, returns: Any, *, entropies: Any = None, clear_rate: float = 0.0, first: int = 0
) -> list[Adjustment]:
    entropies = [1.0] * len(returns) if entropies is None else entropies
    changes = [
        control.observe(first + update, value, clear_rate, entropy)
        for update, (value, entropy) in enumerate(zip(returns, entropies, strict=True))
    ]
    return [change for change in changes if change is not None]


def test_stagnation_raises_exploration_and_slows_learning() -> None:
    control = make_control()
    (change,) = run(control, [1.0] * 2 * WINDOW)
    assert (change.entropy_scale, change.lr_scale) == (2.0, 0.5)
    assert "stagnates" in change.reason
    assert control._learner.entropy_scale == 2.0
    assert control._learner.lr_scale == 0.5


def test_stagnation_of_a_policy_that_narrows_only_raises_exploration() -> None:
    (change,) = run(make_control(), [1.0] * 10, entropies=[1.0] * 5 + [0.5] * 5)
    assert (change.entropy_scale, change.lr_scale) == (2.0, 1.0)


def test_a_rise_tightens_exploration() -> None:
    (change,) = run(make_control(), [1.0] * 5 + [2.0] * 5)
    assert (change.entropy_scale, change.lr_scale) == (0.5, 1.0)
    assert change.reason == "return rose by 100.0%"


def test_success_tightens_both_even_without_a_rise() -> None:
    (change,) = run(make_control(), [1.0] * 10, clear_rate=0.9)
    assert (change.entropy_scale, change.lr_scale) == (0.5, 0.5)


def test_a_rise_of_negative_returns_is_a_rise() -> None:
    (change,) = run(make_control(), [-2.0] * 5 + [-1.0] * 5)
    assert change.entropy_scale == 0.5


def test_changes_keep_their_distance() -> None:
    changes = run(make_control(), [1.0] * 100)
    distances = [after.update - before.update for before, after in pairwise(changes)]
    assert len(changes) > 1
    assert min(distances) >= COOLDOWN


def test_changes_stay_within_bounds_and_end_there() -> None:
    changes = run(make_control(adaptive_limit=4.0, adaptive_cooldown=0), [1.0] * 200)
    assert max(change.entropy_scale for change in changes) == 4.0
    assert min(change.lr_scale for change in changes) == 0.25
    assert len(changes) == 2


def test_off_means_off() -> None:
    control = make_control(adaptive=False)
    assert run(control, [1.0] * 100) == []
    assert control._learner.entropy_scale == 1.0
    assert not AdaptiveConfig().adaptive


def test_a_restored_control_decides_as_the_saved_one_would_have() -> None:
    one, other = make_control(), make_control()
    run(one, [1.0] * 17)
    other.restore(one.state())
    other._learner.entropy_scale, other._learner.lr_scale = one._learner.entropy_scale, one._learner.lr_scale
    assert run(one, [1.0] * 30, first=17) == run(other, [1.0] * 30, first=17)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="--adaptive-factor"):
        AdaptiveConfig(adaptive_factor=1.0)
