"""Start states of the corridor, and how often each is drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.config import TrainingConfig
from mario_a3c.envs.env_batch import EPISODE_DTYPE, EndReason
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig, StartOrder
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable, path_starts
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage
from tests.support.corridor import SHORTEST, corridor_task


def test_states_lie_evenly_along_the_way_and_some_right_before_the_goal(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    console = Console(task.rom.path, allow_unknown_rom=True)
    starts = path_starts(task, np.ones(SHORTEST, np.uint8), 8, console)
    positions = []
    for start in starts:
        console.load(start.state)
        positions.append(console.game().x)
    assert len(starts) == 8
    assert positions == sorted(positions)
    steps = [round(start.share * SHORTEST) for start in starts]
    assert steps == [7, 15, 20, 22, 29, 32, 37, 38]  # every 7.3 of 44, and 24, 12 and 6 before the goal


def table_of(*num_along: int) -> StartTable:
    """Stages 1-1, 1-2... with so many starts along their ways."""
    stages = [Stage(1 + number // 4, 1 + number % 4) for number in range(len(num_along))]
    along = {
        stage: [StartState(stage, b"", f"{stage}", (index + 1) / (count + 1)) for index in range(count)]
        for stage, count in zip(stages, num_along, strict=True)
    }
    return StartTable.of([StartState(stage, b"", str(stage)) for stage in stages], along)


def ended(table: StartTable, stage: int, position: int, *, clears: int, fails: int) -> np.ndarray:
    episodes = np.zeros(clears + fails, EPISODE_DTYPE)
    episodes["start"] = table.first[stage] + position
    episodes["end_reason"] = [EndReason.FLAG] * clears + [EndReason.DEATH] * fails
    return episodes


def test_thirds_are_drawn_as_often_as_asked() -> None:
    table = table_of(8, 0)
    sampler = StartSampler(
        table, StartConfig(start_early=0.1, start_middle=0.2, start_late=0.4), CurriculumConfig(curriculum="none")
    )
    weights = sampler.weights()
    assert weights.sum() == pytest.approx(1.0)
    first = weights[table.stage == 0] * 2  # two stages
    assert first[0] == pytest.approx(0.3)
    assert first[1:3].sum() == pytest.approx(0.1)
    assert first[3:6].sum() == pytest.approx(0.2)
    assert first[6:].sum() == pytest.approx(0.4)
    assert weights[-1] == pytest.approx(0.5)  # no way: all from its own start
    with pytest.raises(ConfigError, match="--start-early"):
        StartConfig(start_early=0.7, start_late=0.7)


def test_whole_episodes_are_those_from_a_stages_own_start() -> None:
    table = table_of(2, 0, 3)  # own starts are 0, 3 and 4
    sampler = StartSampler(table, StartConfig(start_late=0.5), CurriculumConfig(curriculum="none"))
    episodes = np.zeros(10, EPISODE_DTYPE)
    episodes["start"] = [0, 1, 2, 3, 4, 5, 6, 7, 8, -1]  # the last: where its console stood
    episodes["number"] = np.arange(10)
    assert np.flatnonzero(sampler.is_whole(episodes)).tolist() == [0, 3, 4, 9]
    assert sampler.observe(episodes)["number"].tolist() == [0, 3, 4, 9]


SPREAD = CurriculumConfig(curriculum="starts", start_order="spread", clear_rate_episodes=10, real_starts=0.4)


def test_spread_starts_give_way_to_the_real_one_as_it_is_cleared() -> None:
    table = table_of(6, 6, 0)
    sampler = StartSampler(table, StartConfig(), SPREAD)
    assert sampler.weights() * 3 == pytest.approx([*[0.4, *[0.1] * 6] * 2, 1.0])
    sampler.observe(ended(table, 0, 3, clears=10, fails=0))
    assert sampler.measures()["stage_real_starts"]["1-1"] == pytest.approx(0.4), "elsewhere it does not count"
    sampler.observe(ended(table, 0, 0, clears=1, fails=0))
    assert sampler.measures()["stage_real_starts"]["1-1"] == pytest.approx(0.46), "one clear is not all of them"
    sampler.observe(ended(table, 0, 0, clears=4, fails=5))
    assert sampler.measures()["stage_real_starts"] == pytest.approx({"1-1": 0.7, "1-2": 0.4, "1-3": 1.0})
    for _ in range(60):
        sampler.observe(ended(table, 0, 0, clears=10, fails=0))
    assert sampler.weights()[:7] * 3 == pytest.approx([1, 0, 0, 0, 0, 0, 0])


def test_practice_along_the_way_may_go_on_where_all_is_cleared() -> None:
    table = table_of(6)
    sampler = StartSampler(table, StartConfig(), replace(SPREAD, real_starts_final=0.7))
    assert sampler.weights() == pytest.approx([0.4, *[0.1] * 6])
    sampler.observe(ended(table, 0, 0, clears=5, fails=5))
    assert sampler.weights() == pytest.approx([0.55, *[0.075] * 6])
    for _ in range(60):
        sampler.observe(ended(table, 0, 0, clears=10, fails=0))
    assert sampler.weights() == pytest.approx([0.7, *[0.05] * 6])
    with pytest.raises(ConfigError, match=r"must be in \[--real-starts, 1\], here \[0.4, 1\], got 0.3"):
        replace(SPREAD, real_starts_final=0.3)
    with pytest.raises(ConfigError, match="leave --real-starts-final out"):
        CurriculumConfig(curriculum="starts", start_order="backward", real_starts_final=0.9)


def test_starts_before_hard_places_are_drawn_more_often_and_none_is_left_out() -> None:
    table = table_of(8, 8)
    config = CurriculumConfig(curriculum="starts", start_order="focus", clear_rate_episodes=10, real_starts=0.2)
    sampler = StartSampler(table, StartConfig(), config)
    assert sampler.weights()[1:9] * 2 == pytest.approx([0.1] * 8), "nothing is known yet"
    for _ in range(5):
        for position in range(1, 9):  # the third place is mastered half of the time, those before it never
            passes = {1: 0, 2: 0, 3: 5}.get(position, 10)
            episodes = ended(table, 0, position, clears=0, fails=10)
            episodes["progress"] = table.share[position]
            episodes["progress"][:passes] += 0.1
            sampler.observe(episodes)
    along = sampler.weights()[1:9] * 2
    assert along.sum() == pytest.approx(0.8)
    assert np.argmax(along) == 2
    assert along[2] > 3 * along[[0, 1, 3, 7]].max()
    assert along.min() > 0.3 * 0.1
    assert sampler.weights()[10:] * 2 == pytest.approx([0.1] * 8), "of another stage"
    with pytest.raises(ConfigError, match="--progress map"):
        TrainingConfig(curriculum=config)


BACKWARD = CurriculumConfig(
    curriculum="starts", start_order="backward", clear_rate_episodes=10, real_starts=0.25, patience_episodes=100
)


def test_starts_move_back_as_they_are_cleared_until_all_are_real() -> None:
    table = table_of(6)
    sampler = StartSampler(table, StartConfig(), BACKWARD)
    seen = [sampler.measures()["stage_starts"]["1-1"]]
    assert sampler.weights() == pytest.approx([0.25, 0, 0, 0, 0.25, 0.25, 0.25])
    for position in (4, 3, 2, 1):
        sampler.observe(ended(table, 0, position, clears=1, fails=9))
        assert sampler.measures()["stage_starts"]["1-1"] == seen[-1], "one in ten is too few"
        sampler.observe(ended(table, 0, position, clears=6, fails=4))
        seen.append(sampler.measures()["stage_starts"]["1-1"])
        assert sampler.weights().sum() == pytest.approx(1.0)
    assert seen == sorted(seen, reverse=True)
    assert sampler.weights() == pytest.approx([1, 0, 0, 0, 0, 0, 0])
    assert str(sampler) == "1-1 from its start, clears 0%, 100% of episodes"


def test_what_is_near_the_goal_is_not_forgotten() -> None:
    table = table_of(6)
    sampler = StartSampler(table, StartConfig(), BACKWARD)
    for position in (4, 3):
        sampler.observe(ended(table, 0, position, clears=10, fails=0))
    # Frontier 2: window 2 3 4, and nearer 5 6 with 30 % of what begins along the way.
    assert sampler.weights() == pytest.approx([0.25, 0, *[0.75 * 0.7 / 3] * 3, *[0.75 * 0.3 / 2] * 2])


def test_a_stage_that_is_cleared_from_its_start_needs_no_others() -> None:
    table = table_of(6, 6)
    sampler = StartSampler(table, StartConfig(), BACKWARD)
    sampler.observe(ended(table, 1, 0, clears=5, fails=5))
    assert sampler.measures()["stage_real_starts"] == {"1-1": 0.25, "1-2": 1.0}


def test_patience_ends() -> None:
    table = table_of(6)
    sampler = StartSampler(table, StartConfig(), BACKWARD)
    for _ in range(4 * 10 - 1):
        sampler.observe(ended(table, 0, int(sampler._starts.frontier[0]), clears=0, fails=10))  # type: ignore[attr-defined]
    assert sampler.measures()["stage_real_starts"]["1-1"] == 0.25
    sampler.observe(ended(table, 0, 1, clears=0, fails=10))
    assert sampler.measures()["stage_real_starts"]["1-1"] == 1.0


def test_only_whole_stages_are_handed_on() -> None:
    table = table_of(4)
    sampler = StartSampler(table, StartConfig(), BACKWARD)
    mixed = np.concatenate([ended(table, 0, position, clears=1, fails=0) for position in (0, 3, 0, 4)])
    mixed["number"] = np.arange(4)
    assert sampler.observe(mixed)["number"].tolist() == [0, 2]
    elsewhere = ended(table, 0, 0, clears=1, fails=0)
    elsewhere["start"] = -1  # begun by hand
    assert len(sampler.observe(elsewhere)) == 1


def test_stages_that_are_nearly_learned_are_played_more_and_none_is_starved() -> None:
    table = table_of(0, 0, 0, 0)
    sampler = StartSampler(table, StartConfig(), CurriculumConfig(curriculum="stages", stage_floor=0.4))
    assert sampler.weights() == pytest.approx([0.25] * 4)
    for _ in range(20):
        for stage, clears in enumerate((0, 1, 5, 10)):
            sampler.observe(ended(table, stage, 0, clears=clears, fails=10 - clears))
    never, seldom, half, always = sampler.weights()
    assert half > seldom > always
    assert half > seldom > never
    assert min(never, always) >= 0.1
    assert sampler.weights().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("start_order", ["spread", "focus", "backward"])
def test_a_sampler_goes_on_where_another_was(start_order: StartOrder) -> None:
    table = table_of(6, 6, 6)
    config = CurriculumConfig(curriculum="both", start_order=start_order, clear_rate_episodes=10)
    one, other = (StartSampler(table, StartConfig(), config) for _ in range(2))
    random = np.random.default_rng(0)

    def play(samplers: list[StartSampler], num_rollouts: int) -> None:
        for _ in range(num_rollouts):
            starts = random.choice(len(table.starts), 40, p=samplers[0].weights())
            episodes = np.zeros(40, EPISODE_DTYPE)
            episodes["start"], episodes["end_reason"] = starts, np.where(random.random(40) < 0.5, EndReason.FLAG, 2)
            for sampler in samplers:
                sampler.observe(episodes)

    play([one], 10)
    other.restore(one.state())
    np.testing.assert_array_equal(other.weights(), one.weights())
    play([one, other], 10)
    np.testing.assert_array_equal(other.weights(), one.weights())
    assert str(one) == str(other)
    with pytest.raises(CheckpointError, match="1-1 1-2 1-3"):
        StartSampler(table_of(6), StartConfig(), config).restore(one.state())
