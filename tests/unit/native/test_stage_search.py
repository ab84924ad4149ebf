"""The search behind the boundary, on a corridor with a known answer."""

from pathlib import Path

import numpy as np
import pytest

from mario_a3c.errors import EngineError, SaveStateError
from mario_a3c.native.console import Console
from mario_a3c.native.stage_search import NEVER, StageSearch
from tests.support.corridor import SHORTEST, corridor_task


def make_search(folder: Path, seed: int = 1, num_threads: int = 1, frame_skip: int = 4) -> StageSearch:
    task = corridor_task(folder)
    return StageSearch(
        task.rom, task.start_state, task.buttons, seed=seed, num_threads=num_threads, frame_skip=frame_skip
    )


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_shortest_way_is_found_and_played_again(tmp_path: Path, num_threads: int) -> None:
    search, task = make_search(tmp_path, num_threads=num_threads), corridor_task(tmp_path)
    status = search.run(10_000_000, frames_after_goal=50_000)
    path = search.best_path()
    assert path is not None
    assert list(path) == [1] * SHORTEST
    assert status.num_frames < status.first_goal_frames + 100_000
    console = Console(task.rom.path, allow_unknown_rom=True)
    console.load(task.start_state)
    for action in path:
        assert not console.game().is_stage_clear
        console.run_frame(task.buttons[action], task.frame_skip)
    assert console.game().is_stage_clear


def test_equal_seeds_give_equal_archives_on_one_thread(tmp_path: Path) -> None:
    one, same, other = (make_search(tmp_path, seed) for seed in (5, 5, 6))
    for search in (one, same, other):
        search.run(30_000)
    assert one.cells().tobytes() == same.cells().tobytes()
    assert one.cells().tobytes() != other.cells().tobytes()
    for cell, steps in enumerate(one.cells()["steps"]):
        np.testing.assert_array_equal(one.path_to(cell, int(steps)), same.path_to(cell, int(steps)))
        assert one.state_of(cell) == same.state_of(cell)


def test_the_path_to_a_cell_leads_to_the_state_that_is_kept_there(tmp_path: Path) -> None:
    search, task = make_search(tmp_path), corridor_task(tmp_path)
    search.run(20_000)
    cells = search.cells()
    console = Console(task.rom.path, allow_unknown_rom=True)
    for cell in range(0, len(cells), 7):
        console.load(task.start_state)
        for action in search.path_to(cell, int(cells["steps"][cell])):
            console.run_frame(task.buttons[action], task.frame_skip)
        assert console.save() == search.state_of(cell)
        assert console.game().x // 16 == cells["x"][cell]


def test_before_a_way_was_found_no_cell_knows_how_far_it_is(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    search = StageSearch(task.rom, task.start_state, [0])
    search.run(5_000)
    assert search.best_path() is None
    assert (search.cells()["remaining_steps"] == NEVER).all()


def test_paths_bring_a_new_search_to_where_another_was(tmp_path: Path) -> None:
    one, two = make_search(tmp_path), make_search(tmp_path, seed=2)
    one.run(20_000)
    cells = one.cells()
    two.add_paths([one.path_to(cell, int(cells["steps"][cell])) for cell in range(len(cells))])
    key = ["room", "x", "y", "hold", "steps"]
    assert sorted(map(tuple, cells[key].tolist())) == sorted(map(tuple, two.cells()[key].tolist()))
    two.add_paths([])
    with pytest.raises(ValueError, match="action set"):
        two.add_paths([np.array([9], np.uint8)])


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    with pytest.raises(SaveStateError):
        StageSearch(task.rom, task.start_state[:-1], task.buttons)
    with pytest.raises(ValueError, match="1 to 256 actions"):
        StageSearch(task.rom, task.start_state, [])
    with pytest.raises(ValueError, match="frame_skip"):
        make_search(tmp_path, frame_skip=0)
    with pytest.raises(ValueError, match="cleared stage or for a power-up"):
        StageSearch(task.rom, task.start_state, task.buttons, goal=2)  # type: ignore[arg-type]
    with pytest.raises(EngineError):
        StageSearch(task.rom, task.start_state, task.buttons, engine_path=tmp_path / "nothing.so")
    search = make_search(tmp_path)
    with pytest.raises(ValueError, match="there is no cell 7"):
        search.state_of(7)
    with pytest.raises(ValueError, match="room for 0"):
        search.path_to(0, 3)
