"""Starts before recent deaths, on the home-made game."""

import numpy as np
import pytest

from mario_a3c.envs.env_batch import EPISODE_DTYPE, EndReason
from mario_a3c.envs.mario_batch import MarioBatch, StartState
from mario_a3c.errors import ConfigError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.exploration.deaths import EXCERPT_STEPS, SLOTS, DeathWatch, RecentDeaths
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable
from mario_a3c.native.start_states import Stage
from mario_a3c.training.starts import weigh_starts
from tests.support import tiny_game
from tests.support.tiny_batches import DIE, LEFT, NOOP, RIGHT, WALK, MakeBatch, play

FIRST, SECOND = Stage(1, 1), Stage(1, 2)
HALF = CurriculumConfig(curriculum="starts", death_starts=0.5)


def make_sampler(batch: MarioBatch, config: CurriculumConfig = HALF) -> StartSampler:
    table = StartTable.of([batch.stage_start(stage) for stage in batch.stages], {})
    sampler = StartSampler(table, StartConfig(), config)
    batch.set_starts(sampler.starts(), sampler.weights().tolist())
    batch.begin_run()
    return sampler


def ended(slot: int, reason: EndReason, count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, slot), np.full(count, reason.value)


def test_episodes_begin_where_the_agent_was_some_steps_before_it_died_and_are_cut(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=4, noop_max=30, sticky=0.0)
    sampler = make_sampler(batch)
    weigh = weigh_starts(sampler, [batch])
    assert weigh is not None
    play(batch, RIGHT, RIGHT)
    weigh()
    play(batch, *[LEFT, RIGHT] * 8, DIE)
    weigh()
    starts = []
    for _ in range(40):
        play(batch, DIE)
        is_excerpt = batch.episodes["start"] > 0
        starts += is_excerpt.tolist()
        assert (batch.games["x"][is_excerpt] >= tiny_game.START_X + 2 * WALK).all()
        assert (batch.episodes["num_frames"][is_excerpt] == 0).all(), "no idle frames"
    assert 0.35 < np.mean(starts) < 0.65
    began = batch.episodes["start"].copy()
    play(batch, *[NOOP] * (EXCERPT_STEPS - 1))
    assert not batch.truncated.any()
    play(batch, NOOP)
    assert (batch.truncated == (began > 0)).all()
    assert (batch.final_episodes["end_reason"][began > 0] == EndReason.TIME_LIMIT).all()


@pytest.mark.parametrize("steps", [11, 12, 32, 33])
def test_deaths_that_were_sealed_or_that_are_far_off_are_left(make_batch: MakeBatch, steps: int) -> None:
    batch = make_batch(num_envs=2)
    deaths = RecentDeaths(0.5, (FIRST,))
    watch = DeathWatch(batch, deaths)
    play(batch, RIGHT)
    watch.look()
    play(batch, *[LEFT, RIGHT] * 16)
    play(batch, *[NOOP] * 2)
    batch.reset()
    play(batch, RIGHT)
    watch.look()
    assert not deaths.take_changed(), "nobody died"
    play(batch, *[NOOP] * (steps - 1), DIE)
    watch.look()
    assert len(deaths.take_changed()) == (2 if 12 <= steps <= 32 else 0)
    assert not deaths.take_changed(), "they are handed on once"


def test_only_the_episode_that_was_watched_counts(make_batch: MakeBatch) -> None:
    """One that ends, and another that dies in the same rollout: the state belongs to the first."""
    batch = make_batch(num_envs=2)
    deaths = RecentDeaths(0.5, (FIRST,))
    watch = DeathWatch(batch, deaths)
    watch.look()
    play(batch, DIE, *[NOOP] * 14, DIE)
    watch.look()
    assert not deaths.take_changed()


def test_of_many_environments_some_are_watched_and_each_has_its_turn(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=130)
    deaths = RecentDeaths(0.5, (FIRST,))
    watch = DeathWatch(batch, deaths)
    seen: set[int] = set()
    for _ in range(5):
        watch.look()
        seen |= watch._kept.keys()
        assert 20 <= len(watch._kept) <= 32
        play(batch, DIE)
    assert seen == set(range(130))


def test_the_oldest_state_of_a_stage_makes_room_and_other_stages_keep_theirs() -> None:
    deaths = RecentDeaths(0.5, (FIRST, SECOND))
    deaths.add(SECOND, b"other")
    for number in range(SLOTS + 1):
        deaths.add(FIRST, b"%d" % number)
    states = deaths.take_changed()
    assert states[0] == b"%d" % SLOTS
    assert states[1] == b"1"
    assert states[SLOTS] == b"other"
    assert len(states) == SLOTS + 1


def test_states_from_which_all_come_through_or_none_are_drawn_less() -> None:
    deaths = RecentDeaths(0.5, (FIRST, SECOND))
    assert deaths.shares().sum() == 0
    for number in range(3):
        deaths.add(FIRST, b"%d" % number)
    deaths.observe(*ended(0, EndReason.TIME_LIMIT, 20))
    deaths.observe(*ended(1, EndReason.FLAG, 10))
    deaths.observe(*ended(1, EndReason.STALL, 10))
    deaths.observe(*ended(2, EndReason.DEATH, 20))
    always, half, never = deaths.shares()[0, :3]
    assert half > 2 * always
    assert half > 2 * never
    assert min(always, never) > 0
    assert deaths.shares().sum(1).tolist() == pytest.approx([0.5, 0.0])
    for number in range(SLOTS):
        deaths.add(FIRST, b"new %d" % number)
    assert deaths.shares()[0] == pytest.approx(0.5 / SLOTS), "nothing is known about new ones"


def test_excerpts_say_nothing_about_a_stage() -> None:
    """Neither how well it is cleared nor how often it should be played."""
    table = StartTable.of([StartState(stage, b"", str(stage)) for stage in (FIRST, SECOND)], {})
    sampler = StartSampler(table, StartConfig(), CurriculumConfig(curriculum="both", death_starts=0.5))
    assert sampler.deaths is not None
    sampler.deaths.add(FIRST, b"state")
    before = sampler.weights()
    assert before.sum() == pytest.approx(1.0)
    assert before[len(table.starts)] == pytest.approx(before[0])
    excerpts = np.zeros(50, EPISODE_DTYPE)
    excerpts["start"], excerpts["end_reason"] = len(table.starts), EndReason.DEATH
    assert len(sampler.observe(excerpts)) == 0
    assert sampler.weights()[:2].tolist() == pytest.approx(before[:2].tolist())


def test_what_was_gathered_is_there_after_a_restart(make_batch: MakeBatch) -> None:
    one, other = (make_sampler(make_batch(num_envs=2)) for _ in range(2))
    assert one.deaths is not None and other.deaths is not None  # noqa: PT018 -- for the type checker
    other.restore(one.state())
    assert not other.deaths.take_changed()
    for number in range(3):
        one.deaths.add(FIRST, b"state %d" % number)
    one.deaths.observe(*ended(1, EndReason.DEATH, 5))
    other.restore(one.state())
    assert other.deaths.take_changed() == one.deaths.take_changed()
    np.testing.assert_array_equal(other.weights(), one.weights())
    without = make_sampler(make_batch(num_envs=2), CurriculumConfig(curriculum="starts"))
    without.restore(one.state())
    one.restore(without.state())


def test_shares_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="--death-starts must be"):
        CurriculumConfig(curriculum="starts", death_starts=1.0)
    with pytest.raises(ConfigError, match="add --curriculum starts"):
        CurriculumConfig(death_starts=0.5)
