"""Ways and maps of the corridor, where every number is known."""

import dataclasses
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.errors import ConfigError
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.explorer import StageExplorer
from mario_a3c.exploration.maps import obtain_progress_map, obtain_ways
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
    monkeypatch.setattr(StageExplorer, "run", None)
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


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("asks", ["a flag", "Ctrl-C"])
def test_a_search_is_left_soon_after_it_is_asked_to_and_leaves_nothing(
    asks: str, tmp_path: Path, cache: CacheDir
) -> None:
    endless = dataclasses.replace(QUICK, max_frames=10**12, polish_frames=10**12)
    asked_at: list[float] = []

    def ask() -> None:
        asked_at.append(time.monotonic())
        if asks == "Ctrl-C":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    timer = threading.Timer(0.3, ask)
    timer.start()
    tasks = [dataclasses.replace(corridor_task(tmp_path), stage=Stage(1, number)) for number in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        obtain_ways(tasks, cache, config=endless, should_stop=lambda: bool(asked_at) and asks == "a flag")
    assert time.monotonic() - asked_at[0] < 1.0
    timer.join()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("mario-explore")]
    assert not list(cache.folder("exploration").iterdir())


def test_ways_are_found_again_in_the_cache_and_a_damaged_one_anew(
    tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = corridor_task(tmp_path)
    first = obtain_ways([task], cache, config=QUICK)[task.stage]
    assert len(first.path) == SHORTEST
    monkeypatch.setattr(StageExplorer, "run", None)
    np.testing.assert_array_equal(obtain_ways([task], cache, config=QUICK)[task.stage].path, first.path)
    monkeypatch.undo()
    (file,) = cache.folder("exploration").glob("*.path.npy")
    np.save(file, np.full(9, 200, np.uint8))  # no such action
    np.testing.assert_array_equal(obtain_ways([task], cache, config=QUICK)[task.stage].path, first.path)
