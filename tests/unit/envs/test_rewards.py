"""What is paid for, with progress by position."""

from dataclasses import replace

import numpy as np
import pytest

from mario_a3c.envs.config import RewardConfig
from mario_a3c.envs.mario_batch import MarioBatch
from tests.support import tiny_game
from tests.support.tiny_batches import DIE, LEFT, NOOP, PIPE, RIGHT, SCORE, THROW, WALK, MakeBatch, play


def test_walking_pays_new_ground_alone(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(progress_reward=0.5, step_penalty=0.25))
    play(batch, RIGHT)
    assert batch.rewards.tolist() == [WALK * 0.5 - 0.25] * 2
    play(batch, LEFT)
    assert batch.rewards.tolist() == [-0.25] * 2
    play(batch, RIGHT)
    assert batch.rewards.tolist() == [-0.25] * 2, "the same ground a second time"
    play(batch, RIGHT)
    assert batch.episodes["progress"].tolist() == [2 * WALK] * 2


def test_a_pipe_is_passed_in_one_step_and_pays_nothing(make_batch: MakeBatch) -> None:
    batch = make_batch()
    play(batch, RIGHT, PIPE)
    assert batch.games["has_control"].all()
    assert batch.games["x"].tolist() == [tiny_game.PIPE_X] * 2
    assert batch.rewards.tolist() == pytest.approx([-0.002] * 2)
    assert batch.episodes["num_frames"][0] > 4 + tiny_game.PIPE_FRAMES - 4
    play(batch, RIGHT)
    assert batch.episodes["progress"].tolist() == [2 * WALK] * 2, "the next room is new ground"
    waiting = make_batch(skip_idle=False)
    play(waiting, RIGHT, PIPE)
    assert not waiting.games["has_control"].any()


def test_a_maze_that_throws_back_neither_pays_nor_costs(make_batch: MakeBatch) -> None:
    batch = make_batch(stall_steps=0)
    play(batch, *[RIGHT] * 10)
    furthest = batch.games["x"][0]
    play(batch, THROW)
    assert batch.games["x"].astype(np.int16)[0] < furthest - tiny_game.THROWN_BACK
    while batch.games["x"].astype(np.int16)[0] + WALK <= furthest:
        play(batch, RIGHT)
        assert batch.rewards[0] == pytest.approx(-0.002)
    play(batch, RIGHT)
    assert batch.rewards[0] > 0


def test_score_can_be_paid(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(score_reward=0.1, step_penalty=0.0))
    play(batch, SCORE)
    assert batch.rewards.tolist() == pytest.approx([4.0] * 2)  # ten points a frame
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2


STATUS, IS_OUT, WHAT_IS_OUT, MUSHROOM = 0x0756, 0x14, 0x1B, 0x2E


def poke(batch: MarioBatch, **memory: int) -> None:
    """The home-made game has no mushrooms."""
    addresses = {"status": STATUS, "is_out": IS_OUT, "what": WHAT_IS_OUT}
    for env in range(batch.num_envs):
        for name, value in memory.items():
            batch.ram(env)[addresses[name]] = value


def test_a_power_up_is_paid_for_until_it_is_lost(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(power_reward=0.5, step_penalty=0.0, failure_penalty=2.0))
    poke(batch, status=1)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.5] * 2
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2, "tall already"
    poke(batch, status=0)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [-0.5] * 2, "a hit"
    poke(batch, status=1)
    play(batch, NOOP)
    assert batch.episodes["num_power_ups"].tolist() == [2] * 2
    play(batch, DIE)
    assert batch.rewards.tolist() == [-2.0] * 2
    assert batch.final_episodes["num_power_ups"].tolist() == [2] * 2
    assert batch.episodes["num_power_ups"].tolist() == [0] * 2


def test_one_that_is_out_is_worth_half(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(power_reward=0.5, step_penalty=0.0))
    poke(batch, is_out=1, what=MUSHROOM)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.25] * 2
    batch.ram(0)[IS_OUT] = 0
    play(batch, NOOP)
    assert batch.rewards.tolist() == [-0.25, 0.0], "the first has left it"
    poke(batch, is_out=0, status=1)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.5, 0.25], "the second has taken it"
    assert batch.episodes["num_power_ups"].tolist() == [1] * 2


def test_whoever_begins_tall_took_nothing(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(power_reward=0.5, step_penalty=0.0))
    poke(batch, status=1)
    batch.set_starts([replace(batch.starts[0], state=batch.console_state(0))])
    batch.reset()
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2
    assert batch.episodes["num_power_ups"].tolist() == [0] * 2


def test_the_classic_reward_is_pixels_ticks_and_deaths(make_batch: MakeBatch) -> None:
    batch = make_batch(reward=RewardConfig(reward="classic"))
    play(batch, RIGHT)
    assert batch.rewards.tolist() == [WALK] * 2
    play(batch, LEFT)
    assert batch.rewards.tolist() == [-WALK] * 2
    play(batch, THROW)
    assert batch.rewards.tolist() == [0.0] * 2, "leaps are not walks"
    batch.ram(0)[0x07FA] = 5
    batch.ram(1)[0x07F9] = 9
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2, "more time is no reward"
    batch.ram(0)[0x07FA] = 3
    play(batch, NOOP)
    assert batch.rewards.tolist() == [-2.0, 0.0]
    play(batch, DIE)
    assert batch.rewards.tolist() == [-15.0] * 2
    assert batch.terminated.all()
    assert batch.final_episodes["num_frames"][0] < 6 * 4, "the step ends with the frame that ends the episode"
