"""Consoles that can be looked into: their memory, row by row, beside what the batch shows."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.envs.env_batch import show_ram
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.errors import ConfigError
from mario_a3c.native.console import RAM_BYTES
from tests.support.tasks import Corridor, Lottery
from tests.support.tiny_batches import RIGHT, SCORE, MakeBatch, play, random_actions

NUM_ENVS = 3


def shown(batch: MarioBatch) -> npt.NDArray[np.uint8]:
    rows = np.zeros((batch.num_envs, RAM_BYTES), np.uint8)
    batch.show_ram(rows)
    return rows


def memory_of(batch: MarioBatch) -> npt.NDArray[np.uint8]:
    return np.stack([batch.ram(env) for env in range(batch.num_envs)])


def test_memory_is_shown_at_once_and_after_every_step_and_reset(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=NUM_ENVS, num_threads=2, frame_stack=1, noop_max=9, max_episode_steps=12)
    for actions in random_actions(batch, 3):
        batch.step(actions)
    rows = shown(batch)
    assert (rows == memory_of(batch)).all()
    seen, num_ended = {rows.tobytes()}, 0
    mask = np.array([False, True, False])
    for step, actions in enumerate(random_actions(batch, 40, seed=1)):
        batch.step(actions, np.zeros((NUM_ENVS, 84, 84), np.uint8))
        assert (rows == memory_of(batch)).all(), step
        seen.add(rows.tobytes())
        num_ended += int((batch.terminated | batch.truncated).sum())
        if step % 10 == 4:
            batch.reset(mask=mask)
            assert (rows == memory_of(batch)).all(), step
    assert len(seen) > 30
    assert num_ended > 3
    batch.reset(seed=7)
    assert (rows == memory_of(batch)).all()


def test_where_an_episode_ended_it_is_the_memory_of_the_next_one(make_batch: MakeBatch) -> None:
    batch = make_batch(frame_stack=1, max_episode_steps=3)
    rows = shown(batch)
    beginning = rows.copy()
    for _ in range(2):
        play(batch, RIGHT, SCORE)
        assert (rows != beginning).any(axis=1).all()
        play(batch, RIGHT)
        assert batch.truncated.all()
        assert (rows == beginning).all()


def test_memory_of_restored_environments_is_shown_before_they_are_stepped(make_batch: MakeBatch) -> None:
    batch, other = make_batch(frame_stack=1), make_batch(frame_stack=1)
    rows = shown(batch)
    for actions in random_actions(other, 9):
        other.step(actions)
    play(batch, SCORE)
    before = rows.copy()
    batch.set_state(1, other.get_state(1))
    assert (rows[0] == before[0]).all()
    assert (rows[1] == other.ram(1)).all()
    assert (rows[1] != before[1]).any()
    batch.restore(other.state())
    assert (rows == memory_of(other)).all()
    batch.reset(state=batch.console_state(0))
    assert (rows == memory_of(batch)).all()


def test_looking_changes_nothing_about_the_game(make_batch: MakeBatch) -> None:
    options: dict[str, Any] = {"noop_max": 9, "sticky": 0.25, "max_episode_steps": 12, "frame_stack": 1}
    seen, unseen = make_batch(**options), make_batch(**options)
    for step, actions in enumerate(random_actions(seen, 20)):
        seen.step(actions)
        unseen.step(actions)
        if step == 5:
            shown(seen)
        for name in ("observations", "rewards", "terminated", "truncated", "games", "episodes"):
            assert (getattr(seen, name) == getattr(unseen, name)).all(), (step, name)
    assert seen.get_state(0) == unseen.get_state(0)


def test_the_last_rows_that_were_given_are_written_and_kept_alive(make_batch: MakeBatch) -> None:
    batch = make_batch()
    first = shown(batch)
    left = first.copy()
    batch.show_ram(np.zeros((2, RAM_BYTES), np.uint8))  # nobody else holds them
    gc.collect()
    play(batch, RIGHT, SCORE, RIGHT)
    assert (first == left).all()
    assert (batch._native._ram_rows == memory_of(batch)).all()


@pytest.mark.parametrize(
    "make_wrong",
    [
        lambda: np.zeros((3, RAM_BYTES), np.uint8),
        lambda: np.zeros((2, RAM_BYTES - 1), np.uint8),
        lambda: np.zeros(2 * RAM_BYTES, np.uint8),
        lambda: np.zeros((2, RAM_BYTES), np.int8),
        lambda: np.zeros((2, RAM_BYTES), np.float32),
        lambda: np.zeros((2, 2 * RAM_BYTES), np.uint8)[:, ::2],
        lambda: np.zeros((RAM_BYTES, 2), np.uint8).T,
        lambda: np.frombuffer(bytes(2 * RAM_BYTES), np.uint8).reshape(2, RAM_BYTES),
    ],
    ids=["environments", "bytes", "one row", "signed", "numbers", "strided", "transposed", "read-only"],
)
def test_rows_that_cannot_be_written_are_refused_and_the_ones_before_stay(
    make_batch: MakeBatch, make_wrong: Callable[[], npt.NDArray[Any]]
) -> None:
    batch = make_batch()
    rows = shown(batch)
    with pytest.raises(ValueError, match=r"writable, contiguous uint8 array of shape \(2, 2048\) was expected"):
        batch.show_ram(make_wrong())
    play(batch, RIGHT)
    assert (rows == memory_of(batch)).all()


def test_a_closed_batch_shows_nothing(make_batch: MakeBatch) -> None:
    batch = make_batch()
    batch.close()
    with pytest.raises(RuntimeError, match="closed"):
        shown(batch)


def test_environments_that_have_no_memory_to_show_name_the_ones_that_have() -> None:
    rows = np.zeros((2, Lottery.RAM_BYTES), np.uint8)
    with pytest.raises(ConfigError, match=r"--asymmetric-critic .* --vectorization native"):
        show_ram(Corridor(2), rows)
    envs = Lottery(2)
    show_ram(envs, rows)
    assert (rows == envs.ram()).all()
