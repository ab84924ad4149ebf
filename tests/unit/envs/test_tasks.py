"""The tasks of the tests do what they say: best returns, ends, the next episode in the same step, seeds, state."""

import numpy as np
import pytest

from mario_a3c.envs.env_batch import EndReason, EnvBatch
from tests.support.tasks import Corridor, DelayedReward


def is_batch(batch: EnvBatch) -> bool:  # the argument's type is checked by mypy
    return batch.num_envs > 0


def test_the_shortest_way_through_the_corridor_has_the_best_return() -> None:
    corridor = Corridor(3, length=5)
    assert is_batch(corridor)
    for _ in range(4):
        corridor.step(np.array([1, 1, 0]))
        assert not (corridor.terminated | corridor.truncated).any()
    corridor.step(np.array([1, 1, 0]))
    assert corridor.terminated.tolist() == [True, True, False]
    assert np.allclose(corridor.final_episodes["total_reward"][:2], corridor.best_return)
    assert corridor.final_observations[0, -1, 0, -1] == 255, "the end is seen"
    assert corridor.observations[0, :, 0, 0].tolist() == [255] * 4, "and then the beginning, in all frames"


def test_standing_still_is_cut_short() -> None:
    corridor = Corridor(2, length=5)
    for step in range(1, 21):
        corridor.step(np.array([0, 2]))
        assert corridor.truncated.all() == (step == 20)
    assert corridor.final_episodes["end_reason"].tolist() == [EndReason.TIME_LIMIT] * 2
    assert not corridor.terminated.any()


@pytest.mark.parametrize("recall", [False, True])
def test_the_answer_decides_and_is_paid_at_the_end(recall: bool) -> None:
    task = DelayedReward(64, delay=6, recall=recall, seed=3)
    assert is_batch(task)
    cues = np.where(task.observations[:, -1, 0, 0] == 255, 1, 2)
    assert set(cues) == {1, 2}
    for at in range(7):
        is_answer = at == (6 if recall else 0)
        task.step(cues if is_answer else np.zeros(64, np.int64))
        if at < 6:
            assert not task.rewards.any()
            assert not task.observations[:, -1].any(), "the cue is gone"
    assert task.rewards.tolist() == [task.best_return] * 64
    wrong = 3 - np.where(task.observations[:, -1, 0, 0] == 255, 1, 2)
    for _ in range(7):
        task.step(wrong)
    assert task.rewards.tolist() == [-1.0] * 64


def test_tasks_do_not_depend_on_their_number_and_repeat_with_their_seed() -> None:
    few, many = DelayedReward(2, seed=7), DelayedReward(5, seed=7)
    for step in range(50):
        assert (few.observations == many.observations[:2]).all(), step
        few.step(np.full(2, step % 3))
        many.step(np.full(5, step % 3))
    many.reset(seed=7)
    assert (many.observations == DelayedReward(5, seed=7).observations).all()


def test_a_task_continues_from_its_state() -> None:
    one, other = DelayedReward(4, seed=1), DelayedReward(4, seed=9)
    for _ in range(3):
        one.step(np.ones(4, np.int64))
    other.restore(one.state())
    for step in range(30):
        for task in (one, other):
            task.step(np.full(4, step % 3))
        assert (one.observations == other.observations).all()
        assert (one.rewards == other.rewards).all()


def test_wrong_actions_are_refused() -> None:
    task = Corridor(2)
    for wrong in (np.zeros(3, np.int64), np.zeros(2), np.array([0, 3]), np.array([-1, 0])):
        with pytest.raises(ValueError, match="actions are"):
            task.step(wrong)
