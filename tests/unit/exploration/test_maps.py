"""Maps and start states of the corridor, where every number is known."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.errors import ConfigError
from mario_a3c.exploration.config import SearchConfig, StartConfig
from mario_a3c.exploration.maps import obtain_progress_map
from mario_a3c.exploration.starts import mix_starts, path_starts
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage
from tests.support.corridor import SHORTEST, corridor_task

QUICK = SearchConfig(seed=3, threads=1, polish_frames=60_000, max_frames=200_000)


def test_the_map_of_the_corridor_is_its_length(tmp_path: Path, cache: CacheDir) -> None:
    made = obtain_progress_map([corridor_task(tmp_path)], cache, config=QUICK)
    inside = made.cells["column"] >= 1  # left of the room all columns are one
    np.testing.assert_array_equal(made.remaining_frames[inside], 4 * (48 - made.cells["column"][inside]))
    assert made.start_frames == {0: 4 * SHORTEST}
    assert len(made.cells) == len(np.unique(made.cells))


def test_a_map_is_made_once_and_a_damaged_one_again(
    tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = corridor_task(tmp_path)
    first = obtain_progress_map([task], cache, config=QUICK)
    (path,) = cache.folder("exploration").glob("*.map.npz")
    monkeypatch.setattr("mario_a3c.exploration.maps.StageExplorer", None)
    again = obtain_progress_map([task], cache, config=QUICK)
    assert (again.cells == first.cells).all()
    monkeypatch.undo()
    path.write_bytes(b"damaged")
    mended = obtain_progress_map([task], cache, config=QUICK)
    assert (mended.remaining_frames.min(), mended.start_frames) == (first.remaining_frames.min(), first.start_frames)
    assert ProgressMap.load(path).start_frames == first.start_frames


def test_where_there_is_no_way_the_remedy_is_named(tmp_path: Path, cache: CacheDir) -> None:
    task = dataclasses.replace(corridor_task(tmp_path), actions=("noop", "up"))
    with pytest.raises(ConfigError, match="--progress position"):
        obtain_progress_map([task], cache, config=dataclasses.replace(QUICK, max_frames=5_000))


def test_states_lie_evenly_along_the_way_and_know_their_third(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    console = Console(task.rom.path, allow_unknown_rom=True)
    starts = path_starts(task, np.ones(SHORTEST, np.uint8), 8, console)
    positions = []
    for start in starts:
        console.load(start.state)
        positions.append(console.game().x)
    assert len(starts) == 8
    assert np.diff(positions).max() <= 16 * 6
    assert [start.name.split()[1] for start in starts] == ["early"] * 2 + ["middle"] * 4 + ["late"] * 2


def test_starts_are_mixed_as_often_as_asked() -> None:
    one, two = (StartState(Stage(1, number), b"", f"1-{number}") for number in (1, 2))
    along = {Stage(1, 1): [StartState(Stage(1, 1), b"", f"1-1 {third} 0.5") for third in ("early", "late", "late")]}
    starts, weights = mix_starts([one, two], along, StartConfig(start_early=0.2, start_middle=0.1, start_late=0.4))
    by_name = [(start.name, weight) for start, weight in zip(starts, weights, strict=True)]
    assert by_name == [
        ("1-1 early 0.5", 0.2),
        ("1-1 late 0.5", 0.2),
        ("1-1 late 0.5", 0.2),
        ("1-1", pytest.approx(0.4)),  # the middle has no states: its share is the start's
        ("1-2", 1.0),
    ]
    with pytest.raises(ConfigError, match="--start-early"):
        StartConfig(start_early=0.7, start_late=0.7)
