"""What ends an episode, and what follows."""

import numpy as np
import pytest

from mario_a3c.envs.env_batch import EndReason
from tests.support import tiny_game
from tests.support.tiny_batches import DIE, LEFT, NOOP, PIPE, RIGHT, WARP, MakeBatch, play


def test_the_flag_ends_with_a_bonus_and_the_next_episode_follows_at_once(make_batch: MakeBatch) -> None:
    batch = make_batch()
    play(batch, PIPE, PIPE)
    num_steps = 2
    while not batch.terminated.any():
        play(batch, RIGHT)
        num_steps += 1
    assert batch.rewards[0] == pytest.approx(0.5 - 0.002)
    assert batch.final_games["is_stage_clear"].all()
    assert batch.final_games["has_flag"].all()
    ended = batch.final_episodes[0]
    assert ended["end_reason"] == EndReason.FLAG
    assert ended["num_steps"] == num_steps
    assert ended["total_reward"] == pytest.approx(0.01 * ended["progress"] - 0.002 * num_steps + 0.5)
    assert not batch.truncated.any()
    assert batch.games["x"].tolist() == [tiny_game.START_X] * 2
    assert batch.episodes["number"].tolist() == [1, 1]
    assert batch.episodes["num_steps"].tolist() == [0, 0]
    play(batch, NOOP)
    assert not batch.terminated.any()


def test_a_lost_life_ends_with_a_penalty(make_batch: MakeBatch) -> None:
    batch = make_batch()
    batch.step(np.array([DIE, RIGHT]))
    assert batch.terminated.tolist() == [True, False]
    assert batch.rewards[0] == pytest.approx(-0.25 - 0.002)
    assert batch.final_episodes["end_reason"][0] == EndReason.DEATH
    assert batch.final_games["is_dying"][0]


def test_with_all_lives_only_the_end_of_the_game_ends_the_episode(make_batch: MakeBatch) -> None:
    batch = make_batch(one_life=False)
    rewards = []
    for _ in range(3):
        play(batch, DIE)
        rewards.append(batch.rewards[0])
    assert batch.final_episodes["end_reason"].tolist() == [EndReason.GAME_OVER] * 2
    assert batch.terminated.all()
    assert np.allclose(rewards, -0.252), "each life is paid for once"
    assert batch.final_episodes["num_steps"].tolist() == [3, 3]


def test_leaving_the_stage_without_its_flag_is_a_failure(make_batch: MakeBatch) -> None:
    batch = make_batch()
    play(batch, WARP)
    assert batch.terminated.all()
    assert batch.final_episodes["end_reason"].tolist() == [EndReason.WARP] * 2
    assert np.allclose(batch.rewards, -0.252)
    free = make_batch(one_stage=False)
    play(free, WARP)
    assert not free.terminated.any()


def test_time_limit_and_stall_cut_short(make_batch: MakeBatch) -> None:
    limited = make_batch(max_episode_steps=5)
    play(limited, *[RIGHT] * 4)
    assert not limited.truncated.any()
    play(limited, RIGHT)
    assert limited.truncated.all()
    assert not limited.terminated.any()
    assert limited.final_episodes["end_reason"].tolist() == [EndReason.TIME_LIMIT] * 2
    assert limited.rewards[0] == pytest.approx(0.16 - 0.002), "being cut short costs nothing"
    stalled = make_batch(stall_steps=3)
    play(stalled, NOOP, NOOP, RIGHT, NOOP, LEFT)
    assert not stalled.truncated.any()
    play(stalled, RIGHT)
    assert stalled.final_episodes["end_reason"].tolist() == [EndReason.STALL] * 2
    assert stalled.truncated.all()
    assert not stalled.terminated.any()
    endless = make_batch(stall_steps=0, max_episode_steps=0)
    play(endless, *[NOOP] * 500)
    assert endless.episodes["num_steps"].tolist() == [500, 500]


def test_a_stall_may_be_a_failure(make_batch: MakeBatch) -> None:
    batch = make_batch(stall_steps=3, stall_fails=True)
    play(batch, NOOP, NOOP, NOOP)
    assert batch.final_episodes["end_reason"].tolist() == [EndReason.STALL] * 2
    assert batch.terminated.all()
    assert not batch.truncated.any()
    assert np.allclose(batch.rewards, -0.252)
    limited = make_batch(max_episode_steps=3, stall_fails=True)
    play(limited, NOOP, NOOP, NOOP)
    assert limited.truncated.all(), "any other limit still cuts short"
    assert np.allclose(limited.rewards, -0.002)
