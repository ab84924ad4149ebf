"""One stage's search: budgets, interruptions, and what is kept."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.recording import Recording
from mario_a3c.errors import ConfigError, StorageError
from mario_a3c.exploration.archive_file import SavedArchive
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.explorer import SearchProgress, StageExplorer
from mario_a3c.exploration.task import is_over, play_path, record_path
from mario_a3c.native.console import Console
from tests.support.corridor import SHORTEST, corridor_task

QUICK = SearchConfig(seed=3, threads=1, polish_frames=40_000)


def test_a_search_finds_a_way_improves_it_and_stops(tmp_path: Path, cache: CacheDir) -> None:
    explorer = StageExplorer(corridor_task(tmp_path), QUICK, cache)
    seen: list[SearchProgress] = []
    explorer.run(seen.append)
    assert explorer.is_done
    assert explorer.path is not None
    assert len(explorer.path) == SHORTEST
    assert 0 < explorer.first_goal_frames < explorer.progress().num_frames
    polished = explorer.progress().num_frames - explorer.first_goal_frames
    assert 40_000 <= polished < 41_000
    assert [each.num_frames for each in seen] == sorted(each.num_frames for each in seen)
    assert seen[-1].best_steps == SHORTEST
    assert seen[-1].num_bytes > 0


def test_one_thread_and_one_seed_give_one_result_whatever_the_machine_is_doing(tmp_path: Path) -> None:
    """Slices follow the clock; results do not."""
    archives = []
    for _ in range(2):
        explorer = StageExplorer(corridor_task(tmp_path), QUICK, None)
        explorer.run()
        archives.append(explorer.search.cells().tobytes())
    assert archives[0] == archives[1]


def test_what_was_found_is_there_after_an_interruption(tmp_path: Path, cache: CacheDir) -> None:
    def interrupt(progress: SearchProgress) -> None:
        if progress.num_cells > 20:
            raise KeyboardInterrupt

    first = StageExplorer(corridor_task(tmp_path), QUICK, cache)
    with pytest.raises(KeyboardInterrupt):
        first.run(interrupt)
    second = StageExplorer(corridor_task(tmp_path), QUICK, cache)
    assert second.progress().num_cells == first.progress().num_cells > 20
    assert second.progress().num_frames == first.progress().num_frames
    second.run()
    assert second.path is not None
    assert second.is_done
    third = StageExplorer(corridor_task(tmp_path), QUICK, cache)
    assert third.is_done
    assert third.path is not None
    assert len(third.path) == len(second.path)
    assert third.first_goal_frames == second.first_goal_frames
    fresh = StageExplorer(corridor_task(tmp_path), QUICK, cache, is_fresh=True)
    assert fresh.progress().num_cells == 1


def test_a_continued_search_improves_for_as_long_as_is_asked_for(tmp_path: Path, cache: CacheDir) -> None:
    StageExplorer(corridor_task(tmp_path), QUICK, cache).run()
    longer = StageExplorer(corridor_task(tmp_path), dataclasses.replace(QUICK, polish_frames=60_000), cache)
    assert not longer.is_done
    longer.run()
    polished = longer.progress().num_frames - longer.first_goal_frames
    assert 60_000 <= polished < 61_000


def test_budgets_end_a_search_that_finds_nothing(tmp_path: Path) -> None:
    task = dataclasses.replace(corridor_task(tmp_path), actions=("noop", "up"))
    by_frames = StageExplorer(task, dataclasses.replace(QUICK, max_frames=20_000), None)
    by_frames.run()
    assert by_frames.path is None
    assert 20_000 <= by_frames.progress().num_frames < 21_000
    by_time = StageExplorer(task, dataclasses.replace(QUICK, max_seconds=0.2), None)
    by_time.run()
    assert by_time.path is None
    assert by_time.progress().seconds < 10


def test_a_damaged_archive_is_said_and_the_search_begins_anew(
    tmp_path: Path, cache: CacheDir, caplog: pytest.LogCaptureFixture
) -> None:
    StageExplorer(corridor_task(tmp_path), QUICK, cache).run()
    (path,) = cache.folder("exploration").glob("*.archive.npz")
    for content in (b"", path.read_bytes()[:-20], b"PK" + bytes(100)):
        path.write_bytes(content)
        caplog.clear()
        assert StageExplorer(corridor_task(tmp_path), QUICK, cache).progress().num_cells == 1
        assert "begins anew" in caplog.text


def test_an_archive_of_other_actions_is_another_file(tmp_path: Path, cache: CacheDir) -> None:
    task = corridor_task(tmp_path)
    StageExplorer(task, QUICK, cache).run()
    for other in (
        dataclasses.replace(task, actions=("noop", "right")),
        dataclasses.replace(task, frame_skip=2),
        dataclasses.replace(task, skip_idle=False),
    ):
        assert StageExplorer(other, QUICK, cache).progress().num_cells == 1


def test_an_archive_is_read_as_it_was_written(tmp_path: Path) -> None:
    paths = [np.array(each, np.uint8) for each in ([], [1, 2], [1], [1, 2, 3])]
    SavedArchive(paths, 10, 5, 1.5).save(tmp_path / "archive.npz")
    read = SavedArchive.load(tmp_path / "archive.npz")
    assert sorted(map(list, read.paths)) == sorted(map(list, paths))
    assert (read.num_frames, read.first_goal_frames, read.seconds) == (10, 5, 1.5)
    SavedArchive([], 0, 0, 0.0).save(tmp_path / "empty.npz")
    assert list(SavedArchive.load(tmp_path / "empty.npz").paths) == []
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(StorageError):
        SavedArchive.load(tmp_path / "other.npz")


def test_a_path_becomes_a_recording_that_ends_at_the_goal(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    console = Console(task.rom.path, allow_unknown_rom=True)
    made = record_path(task, np.ones(SHORTEST, np.uint8), console, "a test")
    assert console.game().is_stage_clear
    assert made.held == ((128, 4 * SHORTEST),)
    assert made.steps is not None
    assert made.steps.choices == ((1, SHORTEST),)
    made.save(tmp_path / "recording.json")
    assert Recording.load(tmp_path / "recording.json") == made
    steps = list(play_path(task, np.array([1, 2, 3], np.uint8), console))
    assert [step.game.x for step in steps[:2]] == [80, 64]
    assert [is_over(step.game) for step in steps] == [False, False, True]


def test_bad_budgets_name_the_flag() -> None:
    with pytest.raises(ConfigError, match="--polish-frames"):
        SearchConfig(polish_frames=-1)
    with pytest.raises(ConfigError, match="--threads"):
        SearchConfig(threads=-1)
