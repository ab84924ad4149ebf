"""The map of remaining time: for every place of a stage that was reached, the fewest frames seen from there to its end.

Exploration makes it, environments take it: progress is then time gained towards the flag, which knows pipes, vines,
mazes and detours without a rule for any of them. A place is a *cell*: a room of a stage, how far its maze is solved,
where its next pipe leads (in 8-4 the same pipe leads on or back), and a square of 16 x 16 pixels.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import StorageError

CELL_PIXELS = 16
NUM_COLUMNS = 4096  # a room's x has 16 bits
NUM_ROWS = 48  # above the screen, on it, and below it
# A frame of remaining time counts as much as the pixels that running covers in it (2.5 in the World game).
PIXELS_PER_FRAME = 2.5

CELL_DTYPE: np.dtype[Any] = np.dtype(
    [
        ("level", np.uint8),  # as `games["level"]`: 4 for each world before, 1 for each stage before
        ("room", np.uint16),  # as `games["room"]`
        ("maze_passes", np.uint8),
        ("maze_correct", np.uint8),
        ("next_area", np.uint8),
        ("next_page", np.uint8),
        ("column", np.uint16),  # x / 16; 0 also left of the room
        ("row", np.uint8),  # y / 16, downward from the top of the screen above
    ]
)
AREA_DTYPE: np.dtype[Any] = np.dtype(
    [(name, CELL_DTYPE[name]) for name in (CELL_DTYPE.names or ()) if name not in ("column", "row")]
)
_AREA_FIELDS = list(AREA_DTYPE.names or ())
_UNKNOWN = np.uint32(0xFFFFFFFF)
# Below the level, which has 6; mazes count to 3.
_KEY_BITS = {
    "room": 16,
    "maze_passes": 4,
    "maze_correct": 4,
    "next_area": 8,
    "next_page": 8,
    "column": 12,
    "row": 6,
}


@dataclass(frozen=True, slots=True)
class ProgressMap:
    """`cells[i]` is `remaining_frames[i]` frames away from the end of its stage. Several stages may be in one map.

    `start_frames` is how much is left at the start of a stage, by level; without it, the most that any cell of it has.
    """

    cells: npt.NDArray[Any]  # [C] CELL_DTYPE, no cell twice
    remaining_frames: npt.NDArray[np.uint32]  # [C]
    start_frames: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cells.dtype != CELL_DTYPE or self.cells.shape != self.remaining_frames.shape or self.cells.ndim != 1:
            raise ValueError(
                f"a map has one number of frames per cell ({CELL_DTYPE}), got {self.cells.shape} {self.cells.dtype} "
                f"and {self.remaining_frames.shape} {self.remaining_frames.dtype}"
            )
        if len(self.cells) and int(self.cells["row"].max()) >= NUM_ROWS:
            raise ValueError(f"a cell's row is below {NUM_ROWS}, got {int(self.cells['row'].max())}")
        if len(self.cells) and int(self.cells["column"].max()) >= NUM_COLUMNS:
            raise ValueError(f"a cell's column is below {NUM_COLUMNS}, got {int(self.cells['column'].max())}")
        if (self.remaining_frames == _UNKNOWN).any():
            raise ValueError(f"no end is {_UNKNOWN} frames away: leave unknown cells out of the map")

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        starts = np.array(sorted(self.start_frames.items()), np.uint32).reshape(-1, 2)
        np.savez_compressed(buffer, cells=self.cells, remaining_frames=self.remaining_frames, start_frames=starts)
        write_durably(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> "ProgressMap":
        try:
            # From memory: of a damaged file NumPy leaves the handle open.
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                starts = {int(level): int(frames) for level, frames in file["start_frames"]}
                return cls(file["cells"], file["remaining_frames"].astype(np.uint32), starts)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise StorageError(f"{path} holds no map of remaining time ({error}); explore the stage again") from error


def cells_of(games: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The cell of each game of `BatchConsole.games`. Meaningful where `has_control`. [N] CELL_DTYPE"""
    cells = np.empty(games.shape, CELL_DTYPE)
    for name in _AREA_FIELDS:
        cells[name] = games[name]
    # Left of the room x is about 65,000, a small negative number.
    cells["column"] = np.maximum(games["x"].astype(np.int16), 0) // CELL_PIXELS
    y = games["y_screen"].astype(np.int32) * 256 + games["y_on_screen"]
    cells["row"] = np.minimum(y // CELL_PIXELS, NUM_ROWS - 1)
    return cells


def cell_keys(cells: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """One number per cell, equal where the cells are: for dictionaries and sorting. [N]"""
    keys: npt.NDArray[np.uint64] = cells["level"].astype(np.uint64)
    for name, bits in _KEY_BITS.items():
        keys = (keys << np.uint64(bits)) | cells[name].astype(np.uint64)
    return keys


@dataclass(frozen=True, slots=True)
class ProgressGrids:
    """A map made ready to be looked up by index: one grid per area.

    Squares from which the end was never seen are unknown. Most of them are pits: whatever they were given from beside
    them, falling would pay for it.
    """

    areas: npt.NDArray[Any]  # [K] AREA_DTYPE
    num_columns: npt.NDArray[np.uint32]  # [K]
    first: npt.NDArray[np.uint32]  # [K]: where the grid of an area begins in `remaining_frames`
    stage_frames: npt.NDArray[np.uint32]  # [K]: left at the start of the area's stage
    remaining_frames: npt.NDArray[np.uint32]  # grids of [NUM_ROWS, num_columns], one after another


def grids_of(progress_map: ProgressMap) -> ProgressGrids:
    areas = np.unique(progress_map.cells[_AREA_FIELDS].astype(AREA_DTYPE))
    grids = []
    for area in areas:
        inside = progress_map.cells[_AREA_FIELDS].astype(AREA_DTYPE) == area
        grids.append(_grid(progress_map.cells[inside], progress_map.remaining_frames[inside]))
    sizes = np.array([grid.size for grid in grids], np.uint32)
    levels, remaining = progress_map.cells["level"], progress_map.remaining_frames
    starts = {int(level): int(remaining[levels == level].max()) for level in np.unique(levels)}
    starts.update(progress_map.start_frames)
    return ProgressGrids(
        areas=areas,
        num_columns=np.array([grid.shape[1] for grid in grids], np.uint32),
        first=(np.cumsum(sizes) - sizes).astype(np.uint32),
        stage_frames=np.array([starts[int(area["level"])] for area in areas], np.uint32),
        remaining_frames=np.concatenate([grid.ravel() for grid in grids]) if grids else np.zeros(0, np.uint32),
    )


def lookup(grids: ProgressGrids, cells: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Remaining frames of each cell; -1 where the map knows none. The console does the same natively, and evens what
    lies between the middles of two squares.

    A known room with its maze or pipes in an unknown state counts as the state of it in which most is left.
    """
    remaining = np.where(grids.remaining_frames == _UNKNOWN, -1, grids.remaining_frames.astype(np.int64))
    found = np.full(cells.shape, -1, np.int64)
    is_exact = np.zeros(cells.shape, np.bool_)
    for index, area in enumerate(grids.areas):
        in_room = (cells["level"] == area["level"]) & (cells["room"] == area["room"]) & ~is_exact
        inside = cells[_AREA_FIELDS].astype(AREA_DTYPE) == area
        width = int(grids.num_columns[index])
        column = np.minimum(cells["column"], width - 1).astype(np.int64)
        at = int(grids.first[index]) + cells["row"].astype(np.int64) * width + column
        found[in_room] = np.maximum(found[in_room], remaining[at[in_room]])
        found[inside] = remaining[at[inside]]
        is_exact |= inside
    return found


def join_maps(maps: Mapping[Any, ProgressMap]) -> ProgressMap:
    """One map of several stages', as they are made one by one."""
    return ProgressMap(
        np.concatenate([each.cells for each in maps.values()]),
        np.concatenate([each.remaining_frames for each in maps.values()]).astype(np.uint32),
        {level: frames for each in maps.values() for level, frames in each.start_frames.items()},
    )


def _grid(cells: npt.NDArray[Any], remaining: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """[NUM_ROWS, columns]"""
    grid = np.full((NUM_ROWS, int(cells["column"].max()) + 1), _UNKNOWN, np.uint32)
    grid[cells["row"], cells["column"]] = remaining
    return grid
