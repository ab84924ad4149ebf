"""The map of remaining time: cells, keys, and grids in which they are looked up."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.envs.progress_map import (
    CELL_DTYPE,
    NUM_ROWS,
    ProgressMap,
    cell_keys,
    cells_of,
    grids_of,
    join_maps,
    lookup,
)
from mario_a3c.errors import StorageError
from mario_a3c.native.game_record import GAME_DTYPE


def cells(*rows: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.array(list(rows), CELL_DTYPE)


def random_map(seed: int, level: int = 0) -> ProgressMap:
    rng = np.random.default_rng(seed)
    made = np.zeros(300, CELL_DTYPE)
    made["level"] = level
    made["room"] = rng.choice([0xA3FC, 0xAEC2], 300)
    made["maze_passes"] = rng.integers(0, 2, 300)
    made["column"] = rng.integers(0, 60, 300)
    made["row"] = rng.integers(0, NUM_ROWS, 300)
    made = np.unique(made)
    return ProgressMap(made, rng.integers(0, 5000, len(made)).astype(np.uint32))


def test_a_cell_is_room_maze_pipe_and_square() -> None:
    games = np.zeros(3, GAME_DTYPE)
    games["level"], games["room"] = 31, 0xA3FC
    games["x"] = [0, 1000, 65_530]
    games["y_screen"], games["y_on_screen"] = [1, 0, 255], [0xB0, 0xF0, 0xFF]
    games["maze_passes"], games["maze_correct"] = [0, 2, 0], [0, 1, 0]
    games["next_area"], games["next_page"] = 0x65, 7
    assert cells_of(games).tolist() == [
        (31, 0xA3FC, 0, 0, 0x65, 7, 0, 27),
        (31, 0xA3FC, 2, 1, 0x65, 7, 62, 15),
        (31, 0xA3FC, 0, 0, 0x65, 7, 0, NUM_ROWS - 1),
    ]


def test_keys_are_equal_where_cells_are() -> None:
    made = random_map(0).cells
    keys = cell_keys(np.concatenate([made, made]))
    assert len(np.unique(keys)) == len(made)
    for name in CELL_DTYPE.names or ():
        changed = made.copy()
        changed[name] ^= 1
        assert (cell_keys(changed) != cell_keys(made)).all(), name


def test_a_square_from_which_the_end_was_never_seen_has_no_value_of_its_neighbours() -> None:
    progress_map = random_map(1)
    known = dict(zip(cell_keys(progress_map.cells).tolist(), progress_map.remaining_frames.tolist(), strict=True))
    asked = np.zeros(500, CELL_DTYPE)
    rng = np.random.default_rng(2)
    for name in ("room", "maze_passes"):
        asked[name] = rng.choice(progress_map.cells[name], 500)
    asked["column"], asked["row"] = rng.integers(0, 60, 500), rng.integers(0, NUM_ROWS, 500)
    # The last column of an area stands for all that lies right of it.
    asked = asked[asked["column"] < min(area["column"].max() for area in areas_of(progress_map))]
    found = lookup(grids_of(progress_map), asked)
    assert found.tolist() == [known.get(key, -1) for key in cell_keys(asked).tolist()]
    assert 0 < (found >= 0).sum() < len(found)


def areas_of(progress_map: ProgressMap) -> list[npt.NDArray[Any]]:
    made = progress_map.cells
    kinds = np.unique(made[["room", "maze_passes"]])
    return [made[(made["room"] == kind["room"]) & (made["maze_passes"] == kind["maze_passes"])] for kind in kinds]


def test_of_several_states_of_a_room_those_count_that_know_the_square() -> None:
    known = cells((0, 1, 0, 0, 5, 0, 3, 4), (0, 1, 0, 0, 6, 0, 3, 5))
    grids = grids_of(ProgressMap(known, np.array([70, 10], np.uint32)))
    asked = cells((0, 1, 0, 0, 7, 0, 3, 4), (0, 1, 0, 0, 7, 0, 3, 5), (0, 1, 0, 0, 7, 0, 3, 6))
    assert lookup(grids, asked).tolist() == [70, 10, -1]


def test_known_cells_keep_their_value_and_unknown_areas_have_none() -> None:
    progress_map = random_map(3, level=12)
    grids = grids_of(progress_map)
    assert (lookup(grids, progress_map.cells) == progress_map.remaining_frames).all()
    assert lookup(grids, cells((12, 0x1234, 0, 0, 0, 0, 5, 5), (11, 0xA3FC, 0, 0, 0, 0, 5, 5))).tolist() == [-1, -1]


def test_a_pipe_that_leads_elsewhere_than_known_is_as_far_as_the_farthest_of_the_room() -> None:
    known = cells((0, 1, 0, 0, 5, 0, 3, 4), (0, 1, 0, 0, 6, 0, 3, 4))
    grids = grids_of(ProgressMap(known, np.array([70, 10], np.uint32)))
    asked = cells(
        (0, 1, 0, 0, 7, 0, 3, 4), (0, 1, 0, 0, 6, 0, 3, 4), (0, 1, 0, 0, 5, 0, 3, 4), (1, 1, 0, 0, 5, 0, 3, 4)
    )
    assert lookup(grids, asked).tolist() == [70, 10, 70, -1]


def test_right_of_the_map_the_last_column_counts() -> None:
    grids = grids_of(
        ProgressMap(cells((0, 1, 0, 0, 0, 0, 3, 4), (0, 1, 0, 0, 0, 0, 9, 4)), np.array([70, 10], np.uint32))
    )
    assert lookup(grids, cells((0, 1, 0, 0, 0, 0, 4000, 4))).tolist() == [10]


def test_maps_are_joined_saved_and_read_again(tmp_path: Path) -> None:
    one = dataclasses.replace(random_map(4), start_frames={0: 4321})
    joined = join_maps({"1-1": one, "1-2": random_map(5, level=1)})
    joined.save(tmp_path / "map.npz")
    again = ProgressMap.load(tmp_path / "map.npz")
    assert (again.cells == joined.cells).all()
    assert (again.remaining_frames == joined.remaining_frames).all()
    assert again.start_frames == {0: 4321}
    stage_frames = dict(
        zip(grids_of(again).areas["level"].tolist(), grids_of(again).stage_frames.tolist(), strict=True)
    )
    assert stage_frames == {0: 4321, 1: int(random_map(5).remaining_frames.max())}


def test_what_is_no_map_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(StorageError, match="explore the stage again"):
        ProgressMap.load(tmp_path / "map.npz")
    with pytest.raises(ValueError, match="one number of frames per cell"):
        ProgressMap(cells((0, 1, 0, 0, 0, 0, 3, 4)), np.zeros(2, np.uint32))
    with pytest.raises(ValueError, match="row is below"):
        ProgressMap(cells((0, 1, 0, 0, 0, 0, 3, NUM_ROWS)), np.zeros(1, np.uint32))
