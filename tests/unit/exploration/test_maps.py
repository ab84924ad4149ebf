"""Ways and maps of the corridor, where every number is known."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.errors import ConfigError
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.maps import obtain_progress_map, obtain_ways
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


def test_ways_are_found_again_in_the_cache_and_a_damaged_one_anew(
    tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = corridor_task(tmp_path)
    first = obtain_ways([task], cache, config=QUICK)[task.stage]
    assert len(first.path) == SHORTEST
    monkeypatch.setattr("mario_a3c.exploration.maps.StageExplorer", None)
    np.testing.assert_array_equal(obtain_ways([task], cache, config=QUICK)[task.stage].path, first.path)
    monkeypatch.undo()
    (file,) = cache.folder("exploration").glob("*.path.npy")
    np.save(file, np.full(9, 200, np.uint8))  # no such action
    np.testing.assert_array_equal(obtain_ways([task], cache, config=QUICK)[task.stage].path, first.path)
