"""Where the corridor makes tall, starts before that, and how often each is drawn."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.env_batch import EPISODE_DTYPE
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.exploration.config import CurriculumConfig, SearchConfig, StartConfig
from mario_a3c.exploration.explorer import StageExplorer
from mario_a3c.exploration.power_ups import PowerStarts, obtain_power_ups, starts_before
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable
from mario_a3c.exploration.task import StageTask
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage
from tests.support.corridor import corridor_task

QUICK = SearchConfig(seed=3, threads=1, polish_frames=60_000, max_frames=200_000)
FIRST, SECOND, THIRD = Stage(1, 1), Stage(1, 2), Stage(1, 3)
NEAREST = [1] * 12 + [4]  # right, to the second screen, and up


@pytest.fixture
def task(tmp_path: Path) -> StageTask:
    return replace(corridor_task(tmp_path), actions=("noop", "right", "left", "down", "up"))


def test_the_way_to_the_nearest_power_up_is_found_once(
    task: StageTask, cache: CacheDir, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    never = replace(task, stage=SECOND, actions=("noop", "right", "left", "down"))
    paths = obtain_power_ups([task, never], cache, config=QUICK)
    assert {stage: path.tolist() for stage, path in paths.items()} == {FIRST: NEAREST}
    monkeypatch.setattr(StageExplorer, "run", None)
    paths = obtain_power_ups([task, never], cache, config=QUICK)
    assert {stage: path.tolist() for stage, path in paths.items()} == {FIRST: NEAREST}, (
        "what has none is remembered, too"
    )
    monkeypatch.undo()
    for file in cache.folder("exploration").glob("*-1-1-*.path.npy"):
        np.save(file, np.full(9, 200, np.uint8))  # no such action
    caplog.clear()
    assert obtain_power_ups([task], cache, config=QUICK)[FIRST].tolist() == NEAREST
    assert "explored again" in caplog.text


def test_excerpts_begin_on_the_way_and_end_soon_after_the_power_up(task: StageTask) -> None:
    console = Console(task.rom.path, allow_unknown_rom=True)
    starts = starts_before(task, np.array(NEAREST, np.uint8), console)
    places = []
    for start in starts:
        console.load(start.state)
        places.append((console.game().x, start.excerpt_steps))
        assert console.game().status == 0
    assert places == [(64 + 16 * step, 13 - step + 64) for step in range(13)], "so short that every step is one"
    longer = starts_before(task, np.array([2] * 3 + [1] * 15 + [4] + [0] * 40, np.uint8), console)
    steps_left = [start.excerpt_steps - 64 for start in longer]
    assert (steps_left[0], steps_left[-1]) == (59, 1)
    assert np.all(np.diff(steps_left) < 0)
    assert steps_left[0] - steps_left[1] > 2 * (steps_left[-2] - steps_left[-1])


def power_starts(*num_starts: int, share: float = 0.5) -> PowerStarts:
    """Of the first stages, so many of each."""
    before = {
        Stage(1, 1 + number): [StartState(Stage(1, 1 + number), b"", "")] * count
        for number, count in enumerate(num_starts)
    }
    return PowerStarts(share, (FIRST, SECOND, THIRD), before)


def observe(power: PowerStarts, start: int, taken: Sequence[bool]) -> None:
    power.observe(np.full(len(taken), start), np.array(taken))


def test_starts_at_the_edge_of_what_is_learned_are_drawn_most_and_fewer_when_all_is() -> None:
    power = power_starts(20, 0, 2)
    assert power.shares().tolist() == pytest.approx([0.5 / 20] * 20 + [0.5 / 2] * 2)
    for start in range(20):
        observe(power, start, [start >= 10] * 20)
    shares = power.shares()
    assert shares[:20].sum() == pytest.approx(0.5 * 0.5), "from half of the starts it is taken"
    assert shares[8:12].sum() > 0.8 * shares[:20].sum()
    assert shares.min() > 0
    assert shares[20:].tolist() == pytest.approx([0.25] * 2), "another stage"
    for _ in range(20):
        for start in range(20):
            observe(power, start, [True] * 20)
    assert power.shares()[:20].sum() == pytest.approx(0.0, abs=1e-5)


def make_sampler(power: PowerStarts | None, curriculum: CurriculumConfig | None = None) -> StartSampler:
    stages = [StartState(stage, b"", str(stage)) for stage in (FIRST, SECOND, THIRD)]
    curriculum = curriculum or CurriculumConfig(curriculum="both", power_starts=0.5)
    return StartSampler(StartTable.of(stages, {}), StartConfig(), curriculum, power)


def test_excerpts_take_their_share_of_a_stage_and_say_nothing_about_it() -> None:
    sampler = make_sampler(
        power_starts(2, 0, 1), CurriculumConfig(curriculum="both", power_starts=0.5, death_starts=0.2)
    )
    assert sampler.deaths is not None
    sampler.deaths.add(FIRST, b"state")
    weights = sampler.weights()
    assert weights.sum() == pytest.approx(1.0)
    assert len(weights) == len(sampler.starts())
    assert weights[:3].tolist() == pytest.approx([0.3 / 3, 1 / 3, 0.5 / 3])
    assert weights[3:6].tolist() == pytest.approx([0.25 / 3, 0.25 / 3, 0.5 / 3])
    assert weights[6] == pytest.approx(0.2 / 3), "before a death"
    excerpts = np.zeros(60, EPISODE_DTYPE)
    excerpts["start"], excerpts["num_power_ups"] = 5, 1
    for _ in range(10):
        assert len(sampler.observe(excerpts)) == 0
    assert sampler.weights()[5] == pytest.approx(0.0, abs=1e-9), "it is taken whenever the third stage begins there"
    assert sampler.weights()[:3].tolist() == pytest.approx([0.3 / 3, 1 / 3, 1 / 3])


def test_what_is_known_is_there_after_a_restart_and_older_runs_know_nothing() -> None:
    one, other, longer = (make_sampler(power_starts(count)) for count in (3, 3, 4))
    excerpts = np.zeros(30, EPISODE_DTYPE)
    excerpts["start"], excerpts["num_power_ups"] = 4, 1
    one.observe(excerpts)
    state = one.state()
    other.restore(state)
    np.testing.assert_array_equal(other.weights(), one.weights())
    unknown = longer.weights()
    longer.restore(state)  # other starts
    np.testing.assert_array_equal(longer.weights(), unknown)
    without = make_sampler(None)
    without.restore({name: part for name, part in state.items() if name != "power"})
    with pytest.raises(CheckpointError):
        without.restore({**state, "stages": "1-1"})


def test_shares_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="--power-starts must be"):
        CurriculumConfig(power_starts=1.0)
    with pytest.raises(ConfigError, match="below 1 together"):
        CurriculumConfig(curriculum="starts", power_starts=0.6, death_starts=0.4)
