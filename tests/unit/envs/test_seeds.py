"""Everything random is looked up by the seed, whatever the threads: stages, no-ops, sticky actions, augmentation."""

from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.config import AugmentationConfig
from mario_a3c.envs.mario_batch import env_seeds
from tests.support.tiny_batches import (
    DIE,
    LEFT,
    NOOP,
    RIGHT,
    MakeBatch,
    play,
    random_actions,
)

ARRAYS = ("observations", "rewards", "terminated", "truncated", "games", "episodes")


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
    num_repeated, num_stuck, num_steps = 0, 0, 100
    intended = np.full(50, NOOP)
    previous = np.full(50, NOOP)
    for step in range(num_steps):
        intended = np.full(50, RIGHT if step % 2 == 0 else LEFT)
        batch.step(intended)
        x = batch.games["x"].astype(np.int16).astype(int)
        moved = np.select([x > before, x < before], [RIGHT, LEFT], NOOP)
        assert ((moved == intended) | (moved == previous)).all()
        assert (moved == np.where(batch.stuck, previous, intended)).all()
        num_repeated += int((moved != intended).sum())
        num_stuck += int(batch.stuck.sum())
        previous, before = moved, x
    # Half of the repetitions repeat what was intended anyway, once actions alternate and one stuck.
    assert 0.15 < num_repeated / (50 * num_steps) < 0.30
    assert 0.22 < num_stuck / (50 * num_steps) < 0.28
    batch.reset()
    assert not batch.stuck.any()


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
