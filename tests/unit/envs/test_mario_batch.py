"""Episodes on a home-made game: ends, rewards, progress, stacking, seeds, states, whatever the threads."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.envs.config import AugmentationConfig, RewardConfig
from mario_a3c.envs.env_batch import EndReason, EnvBatch
from mario_a3c.envs.mario_batch import MarioBatch, StartState, env_seeds, stage_of_level
from mario_a3c.envs.progress_map import CELL_DTYPE, ProgressMap, cells_of
from mario_a3c.errors import ConfigError, SaveStateError
from mario_a3c.native.start_states import Stage
from tests.support import tiny_game
from tests.unit.envs.conftest import DIE, LEFT, NOOP, PIPE, RIGHT, SCORE, THROW, WARP, MakeBatch

WALK = 4 * tiny_game.WALK
ARRAYS = ("observations", "rewards", "terminated", "truncated", "games", "episodes")


def play(batch: MarioBatch, *actions: int) -> None:
    for action in actions:
        batch.step(np.full(batch.num_envs, action))


def is_batch(batch: EnvBatch) -> bool:  # the argument's type is checked by mypy
    return batch.num_envs > 0


def random_actions(batch: MarioBatch, num_steps: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Mostly to the right, and everything else now and then."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, batch.num_actions, (num_steps, batch.num_envs))
    return np.where(rng.random(actions.shape) < 0.7, RIGHT, actions)


def test_the_first_observation_is_the_start_in_every_frame(make_batch: MakeBatch) -> None:
    batch = make_batch(frame_stack=4)
    assert is_batch(batch)
    assert batch.observations.shape == (2, 4, 84, 84)
    assert (batch.observations == batch.observations[:, :1]).all()
    assert batch.games["has_control"].all()
    assert batch.games["x"].tolist() == [tiny_game.START_X] * 2


def test_frames_are_stacked_oldest_first(make_batch: MakeBatch) -> None:
    stacked, single = make_batch(frame_stack=3), make_batch(frame_stack=1)
    frames = [single.observations.copy()]
    for action in (RIGHT, RIGHT, LEFT, RIGHT, SCORE, RIGHT):
        play(stacked, action)
        play(single, action)
        frames.append(single.observations.copy())
        expected = np.concatenate([frames[0]] * 3 + frames, axis=1)[:, -3:] if len(frames) < 3 else None
        if expected is None:
            expected = np.concatenate(frames[-3:], axis=1)
        assert (stacked.observations == expected).all()
    assert len({frame.tobytes() for frame in frames}) > 3, "the picture shows where one stands"


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
    endless = make_batch(stall_steps=0, max_episode_steps=0)
    play(endless, *[NOOP] * 500)
    assert endless.episodes["num_steps"].tolist() == [500, 500]


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
    batch.set_progress_map(ProgressMap(cells, np.array([1000, 1000, 980], np.uint32)))
    batch.reset()
    play(batch, PIPE)
    assert batch.rewards.tolist() == [0.0] * 2, "the pipe's own frames earn nothing"
    play(batch, RIGHT)
    assert batch.rewards.tolist() == pytest.approx([0.01 * 2.5 * 16] * 2)
    play(batch, NOOP)
    assert batch.rewards.tolist() == pytest.approx([0.01 * 2.5 * 4] * 2)
    play(batch, NOOP)
    assert batch.rewards.tolist() == [0.0] * 2


DISCOUNT, STAGE_FRAMES = 0.9, 400


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


def test_stages_follow_each_other_over_environments_and_episodes(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=3, world=1, stage=4, stage_span=2)
    seen = []
    for _ in range(3):
        seen.append([str(stage_of_level(level)) for level in batch.episodes["level"]])
        play(batch, DIE)
    assert seen == [["1-4", "2-1", "1-4"], ["2-1", "1-4", "2-1"], ["1-4", "2-1", "1-4"]]


def test_stages_are_drawn_by_weights_that_can_change(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=4, random_stage=True)
    assert len(batch.starts) == 32
    levels = []
    for _ in range(250):
        levels += batch.episodes["level"].tolist()
        play(batch, DIE)
    assert len(set(levels)) == 32
    assert max(np.bincount(levels)) < 70, "a thousand draws of 32"
    batch.set_stage_weights({Stage(1, 1): 1.0, Stage(8, 4): 3.0, Stage(2, 2): 0.0})
    play(batch, DIE)
    levels = []
    for _ in range(250):
        levels += batch.episodes["level"].tolist()
        play(batch, DIE)
    assert set(levels) == {0, 31}
    assert 650 < levels.count(31) < 850


def test_an_episode_begins_at_a_given_stage_or_state(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=3)
    batch.reset(stage=Stage(8, 2), mask=np.array([False, True, False]))
    assert batch.episodes["level"].tolist() == [0, 29, 0]
    play(batch, RIGHT, RIGHT)
    state = batch.console_state(0)
    play(batch, RIGHT)
    batch.reset(state=state, mask=np.array([False, False, True]))
    assert batch.games["x"].tolist() == [tiny_game.START_X + k * WALK for k in (3, 3, 2)]
    assert batch.episodes["num_steps"].tolist() == [3, 3, 0]
    assert batch.episodes["progress"][2] == 0
    play(batch, RIGHT)
    assert batch.episodes["progress"][2] == WALK
    later = batch.console_state(0)
    batch.reset(state=[state, later, state])
    assert batch.games["x"].tolist() == [tiny_game.START_X + k * WALK for k in (2, 4, 2)]
    with pytest.raises(ValueError, match="one save-state or 3 of them"):
        batch.reset(state=[state])
    batch.set_starts([StartState(Stage(1, 1), state, "on the way")])
    play(batch, DIE)
    assert batch.games["x"].tolist() == [tiny_game.START_X + 2 * WALK] * 3


def test_a_masked_reset_leaves_the_others_alone(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=3)
    play(batch, RIGHT, RIGHT)
    before = batch.observations.copy()
    batch.reset(mask=np.array([True, False, True]))
    assert batch.games["x"].tolist() == [tiny_game.START_X, tiny_game.START_X + 2 * WALK, tiny_game.START_X]
    assert (batch.observations[1] == before[1]).all()
    assert (batch.observations[0] != before[0]).any()


@pytest.mark.parametrize("num_threads", [1, 3])
def test_results_depend_on_neither_threads_nor_the_number_of_environments(
    make_batch: MakeBatch, num_threads: int
) -> None:
    options: dict[str, Any] = {
        "noop_max": 30,
        "sticky": 0.25,
        "random_stage": True,
        "augmentation": AugmentationConfig(augment_shift=3, augment_brightness=20, augment_noise=5),
    }
    together = make_batch(num_envs=5, num_threads=num_threads, seed=9, **options)
    alone = [make_batch(num_envs=1, seed=9, first_env=env, **options) for env in range(5)]
    for step, actions in enumerate(random_actions(together, 120)):
        for env, single in enumerate(alone):
            for name in ARRAYS:
                assert (getattr(single, name)[0] == getattr(together, name)[env]).all(), (step, env, name)
            single.step(actions[env : env + 1])
        together.step(actions)


def test_equal_seeds_repeat_and_others_do_not(make_batch: MakeBatch) -> None:
    def run(seed: int) -> list[list[int]]:
        batch = make_batch(num_envs=2, noop_max=30, sticky=0.5)
        batch.reset(seed=seed)
        xs = []
        for actions in random_actions(batch, 40):
            batch.step(actions)
            xs.append(batch.games["x"].tolist())
        return xs

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_single_seed_counts_up_over_the_environments(make_batch: MakeBatch) -> None:
    one, other = make_batch(num_envs=3, random_stage=True), make_batch(num_envs=3, random_stage=True)
    one.reset(seed=5)
    other.reset(seed=[5, 6, 7])
    for _ in range(5):
        assert one.episodes["level"].tolist() == other.episodes["level"].tolist()
        play(one, DIE)
        play(other, DIE)
    assert one.episodes["number"].tolist() == [5, 5, 5]


def test_runs_with_neighbouring_seeds_share_no_environment() -> None:
    seeds = np.concatenate([env_seeds(seed, 0, 1000) for seed in range(20)])
    assert len(np.unique(seeds)) == len(seeds)
    assert (env_seeds(3, 10, 5) == env_seeds(3, 0, 15)[10:]).all()


def test_no_op_starts_idle_for_up_to_so_many_frames(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=8, noop_max=6)
    seen = set()
    for _ in range(30):
        seen |= set(batch.episodes["num_frames"].tolist())
        play(batch, DIE)
    assert seen == set(range(7))


def test_sticky_actions_repeat_the_previous_one_as_often_as_asked(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=50, sticky=0.25, stall_steps=0, max_episode_steps=0)
    before = batch.games["x"].astype(int)
    num_repeated, num_steps = 0, 100
    intended = np.full(50, NOOP)
    previous = np.full(50, NOOP)
    for step in range(num_steps):
        intended = np.full(50, RIGHT if step % 2 == 0 else LEFT)
        batch.step(intended)
        x = batch.games["x"].astype(np.int16).astype(int)
        moved = np.select([x > before, x < before], [RIGHT, LEFT], NOOP)
        assert ((moved == intended) | (moved == previous)).all()
        num_repeated += int((moved != intended).sum())
        previous, before = moved, x
    # Half of the repetitions repeat what was intended anyway, once actions alternate and one stuck.
    assert 0.15 < num_repeated / (50 * num_steps) < 0.30


def test_augmentation_is_the_same_for_a_whole_episode_and_noise_is_not(make_batch: MakeBatch) -> None:
    plain = make_batch(frame_stack=1)
    bright = make_batch(frame_stack=1, augmentation=AugmentationConfig(augment_brightness=60))
    noisy = make_batch(frame_stack=1, augmentation=AugmentationConfig(augment_noise=8))
    differences = set()
    noises = []
    for _ in range(12):
        for batch in (plain, bright, noisy):
            play(batch, RIGHT)
        is_inside = (plain.observations[0] > 70) & (plain.observations[0] < 180)
        if is_inside.any():
            differences |= set((bright.observations[0].astype(int) - plain.observations[0])[is_inside].tolist())
            noise = noisy.observations[0].astype(int) - plain.observations[0]
            assert set(noise[is_inside].ravel()) == set(range(-8, 9))
            noises.append(noise.tobytes())
    assert len(differences) == 1
    assert differences != {0}
    assert len(set(noises)) == len(noises) > 1


def test_a_state_continues_in_the_middle_of_an_episode(make_batch: MakeBatch) -> None:
    options: dict[str, Any] = {"noop_max": 30, "sticky": 0.25, "random_stage": True}
    one, other = make_batch(num_envs=3, seed=1, **options), make_batch(num_envs=3, seed=2, **options)
    for actions in random_actions(one, 20):
        one.step(actions)
    other.restore(one.state())
    for step, actions in enumerate(random_actions(one, 100, seed=1)):
        assert (one.observations == other.observations).all(), step
        one.step(actions)
        other.step(actions)
        for name in ARRAYS:
            assert (getattr(one, name) == getattr(other, name)).all(), (step, name)


def test_states_that_do_not_fit_leave_everything_as_it_was(make_batch: MakeBatch) -> None:
    batch, other = make_batch(), make_batch(frame_stack=4)
    play(batch, RIGHT)
    before = batch.get_state(0)
    for wrong in (other.get_state(0), before[:-1], b"", before[:100] + b"x" + before[101:]):
        with pytest.raises(SaveStateError):
            batch.set_state(0, wrong)
        assert batch.get_state(0) == before
    with pytest.raises(ConfigError, match="--num-envs"):
        make_batch(num_envs=3).restore(batch.state())


def test_what_cannot_be_done_is_said(make_batch: MakeBatch) -> None:
    batch = make_batch()
    for wrong in (np.zeros(3, np.int64), np.zeros(2), np.zeros((2, 1), np.int64), [0.5, 0.5]):
        with pytest.raises(ValueError, match="actions must be 2 integers"):
            batch.step(np.asarray(wrong))
    before = batch.get_state(0)
    for far in (8, -1, 2**40):
        with pytest.raises(ValueError, match=f"action {far} of environment 1"):
            batch.step(np.array([0, far]))
    assert batch.get_state(0) == before
    with pytest.raises(ValueError, match="writable, contiguous uint8"):
        batch.step(np.zeros(2, np.int64), np.zeros((2, 1, 84, 84), np.uint8))
    with pytest.raises(ValueError, match="mask must be 2 bools"):
        batch.reset(mask=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="seed must be"):
        batch.reset(seed=[1, 2, 3])
    with pytest.raises(ConfigError, match="has no stage 9-1"):
        batch.reset(stage=Stage(9, 1))
    with pytest.raises(ValueError, match="not at both"):
        batch.reset(stage=Stage(1, 1), state=b"")
    with pytest.raises(ValueError, match="above 0"):
        batch.set_weights([0.0])
    with pytest.raises(ValueError, match="each start has a weight"):
        batch.set_weights([1.0, 1.0])
    with pytest.raises(ConfigError, match="--stage-span 3 from 8-3 leads beyond 8-4"):
        make_batch(world=8, stage=3, stage_span=3)
    batch.close()
    for call in (lambda: play(batch, NOOP), batch.reset, batch.state, batch.render):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_observations_go_where_they_are_wanted(make_batch: MakeBatch) -> None:
    batch, same = make_batch(frame_stack=1), make_batch(frame_stack=1)
    rollout = np.zeros((5, 2, 84, 84), np.uint8)
    for row in rollout:
        batch.step(np.array([RIGHT, LEFT]), row)
        same.step(np.array([RIGHT, LEFT]))
        assert (row == same.observations[:, 0]).all()


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


def test_single_frames_are_the_newest_of_stacked_ones_whatever_happens(make_batch: MakeBatch) -> None:
    """They are drawn straight into the caller's array, and again when they are asked for a second time."""
    options: dict[str, Any] = {
        "noop_max": 9,
        "max_episode_steps": 25,
        "augmentation": AugmentationConfig(augment_shift=3, augment_brightness=20, augment_noise=5),
    }
    single, stacked = make_batch(num_envs=3, frame_stack=1, **options), make_batch(num_envs=3, frame_stack=3, **options)
    mask = np.array([False, True, False])
    for step, actions in enumerate(random_actions(single, 80)):
        row = np.zeros((3, 84, 84), np.uint8)
        single.step(actions, row)
        stacked.step(actions)
        assert (row == stacked.observations[:, -1]).all(), step
        ended = single.terminated | single.truncated
        assert (single.final_observations[ended, 0] == stacked.final_observations[ended, -1]).all(), step
        if step % 20 == 10:
            single.reset(mask=mask)
            stacked.reset(mask=mask)
            assert (single.observations[:, 0] == stacked.observations[:, -1]).all(), step
        if step % 20 == 15:
            single.restore(single.state())
            assert (single.observations[:, 0] == stacked.observations[:, -1]).all(), step
