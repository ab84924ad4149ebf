"""Where episodes begin."""

import numpy as np
import pytest

from mario_a3c.envs.mario_batch import StartState, stage_of_level
from mario_a3c.native.start_states import Stage
from tests.support import tiny_game
from tests.support.tiny_batches import DIE, RIGHT, WALK, MakeBatch, play


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
