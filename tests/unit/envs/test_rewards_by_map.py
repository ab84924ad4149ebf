"""What is paid for, with progress by a map: time gained, or the gain of a potential."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.envs.config import RewardConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.progress_map import CELL_DTYPE, ProgressMap, cells_of
from mario_a3c.errors import ConfigError
from tests.support.tiny_batches import (
    DIE,
    LEFT,
    NOOP,
    PIPE,
    RIGHT,
    MakeBatch,
    play,
)

DISCOUNT, STAGE_FRAMES = 0.9, 400


def test_progress_by_a_map_is_time_gained_and_a_loop_earns_nothing(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(step_penalty=0.0))
    here = cells_of(batch.games)[0]
    cells = np.array([here] * 8, CELL_DTYPE)
    cells["column"] = np.arange(8)
    # The way out is to the left: 100 frames from the left end, 10 more for each square.
    frames = (100 + 10 * np.arange(8)).astype(np.uint32)
    batch.set_progress_map(ProgressMap(cells, frames, {int(here["level"]): 200}))
    batch.reset()
    share = 1 - frames[here["column"]] / 200
    assert batch.episodes["progress"].tolist() == pytest.approx([share] * 2), "where the episode began"
    step = 0.01 * 10 * 2.5
    for action, expected in ((RIGHT, -step), (LEFT, step), (LEFT, step)):
        play(batch, action)
        assert batch.rewards.tolist() == pytest.approx([expected] * 2)
    assert batch.episodes["progress"].tolist() == pytest.approx([share + 0.05] * 2)
    batch.set_progress_map(None)
    play(batch, RIGHT)
    assert batch.rewards.tolist() == [0.0] * 2
    play(batch, RIGHT, RIGHT)
    assert batch.rewards.tolist() == pytest.approx([0.16] * 2)


def test_a_leap_by_the_map_is_paid_over_several_steps(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(step_penalty=0.0))
    here = cells_of(batch.games)[0]
    cells = np.array([here] * 3, CELL_DTYPE)
    cells["room"] += np.array([0, 1, 1], np.uint16)
    cells["column"] = [2, 2, 3]
    batch.set_progress_map(ProgressMap(cells, np.array([1000, 1000, 964], np.uint32)))
    batch.reset()
    play(batch, PIPE)
    assert batch.rewards.tolist() == [0.0] * 2, "the pipe's own frames earn nothing"
    for action, frames in ((RIGHT, 16), (NOOP, 16), (NOOP, 4)):
        play(batch, action)
        assert batch.rewards.tolist() == pytest.approx([0.01 * 2.5 * frames] * 2)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2


def make_potential_batch(make_batch: MakeBatch, **options: Any) -> tuple[MarioBatch, npt.NDArray[np.float64]]:
    """With the potential of each column of the first room; nothing else pays."""
    here = cells_of(make_batch().games)[0]
    cells = np.array([here] * 64, CELL_DTYPE)
    cells["column"] = np.arange(64)
    frames = (300 - 4 * np.arange(64)).astype(np.uint32)
    batch = make_batch(
        num_envs=1,
        progress="map",
        progress_map=ProgressMap(cells, frames, {int(here["level"]): STAGE_FRAMES}),
        discount=DISCOUNT,
        reward=RewardConfig(shaping="potential", step_penalty=0.0, failure_penalty=0.0, flag_bonus=0.0),
        **options,
    )
    return batch, 0.01 * 2.5 * (STAGE_FRAMES - frames.astype(np.float64))


def discounted_sum(batch: MarioBatch, actions: list[int]) -> float:
    total = 0.0
    for step, action in enumerate(actions):
        play(batch, action)
        total += DISCOUNT**step * float(batch.rewards[0])
    return total


def test_a_potential_pays_the_same_whatever_is_done_between_two_places(make_batch: MakeBatch) -> None:
    batch, potential = make_potential_batch(make_batch, max_episode_steps=40)
    random = np.random.default_rng(0)
    for _ in range(3):
        first = cells_of(batch.games)["column"][0]
        paid = discounted_sum(batch, random.choice([RIGHT, RIGHT, LEFT, NOOP], 40).tolist())
        assert batch.truncated[0], "what follows is bootstrapped: the potential stays"
        last = cells_of(batch.final_games)["column"][0]
        assert first != last
        assert paid == pytest.approx(DISCOUNT**40 * potential[last] - potential[first], abs=1e-4)


def test_where_an_episode_terminates_the_potential_is_gone(make_batch: MakeBatch) -> None:
    batch, potential = make_potential_batch(make_batch)
    first = cells_of(batch.games)["column"][0]
    assert discounted_sum(batch, [RIGHT, RIGHT, NOOP, RIGHT, DIE]) == pytest.approx(-potential[first], abs=1e-4)
    assert batch.terminated[0]


def test_a_potential_needs_a_map_and_the_learners_discount(make_batch: MakeBatch) -> None:
    with pytest.raises(ConfigError, match="--progress map"):
        make_batch(reward=RewardConfig(shaping="potential"))
    cells = cells_of(make_batch().games)[:1]
    options: Any = {"progress": "map", "progress_map": ProgressMap(cells, np.array([5], np.uint32))}
    with pytest.raises(ConfigError, match="--gamma"):
        make_batch(reward=RewardConfig(shaping="potential"), **options)
