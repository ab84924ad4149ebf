"""The search for a way through one stage, on the console's own threads. `mario_native.h` says how it goes about it."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.native.bindings import CellRecord, ExplorationRecord, ExplorationStatus, Goal
from mario_a3c.native.console import Handle, in_range
from mario_a3c.native.library import check, load_library
from mario_a3c.native.rom import Rom

SEARCHED_CELL_DTYPE: np.dtype[Any] = np.dtype(CellRecord)
NEVER = 0xFFFF_FFFF
"""`remaining_steps` of a cell from which the goal was never seen."""
FOREVER = 1 << 62

ActionPath = npt.NDArray[np.uint8]
"""One action per step, as an index into the buttons that the search may press. [T]"""


class StageSearch:
    """An archive of the states that a search has reached, by cell. One thread at a time may use it.

    The GIL is free while it runs. With one thread, equal seeds give equal archives after equal numbers of frames.
    """

    def __init__(
        self,
        rom: Rom,
        start_state: bytes,
        buttons: Sequence[int],
        *,
        frame_skip: int = 4,
        skips_idle: bool = True,
        seed: int = 0,
        num_threads: int = 0,
        max_cells: int = 1 << 16,
        goal: Goal = Goal.CLEAR,
        engine_path: Path | None = None,
    ) -> None:
        """`buttons` is what each action presses; a path is a sequence of indices into it."""
        self._library = load_library()
        actions = np.array([in_range("buttons", each, 0, 255) for each in buttons], np.uint8)
        record = ExplorationRecord(
            in_range("seed", seed, 0, (1 << 64) - 1),
            in_range("num_threads", num_threads, 0, 1024),
            in_range("frame_skip", frame_skip, 1, 60),
            skips_idle,
            in_range("max_cells", max_cells, 1, 1 << 22),
            len(actions),
            goal,
        )
        file = rom.cartridge.file
        self._handle = Handle(
            lambda out: self._library.mario_exploration_create(
                file, len(file), ctypes.byref(record), actions.ctypes.data, start_state, len(start_state), out
            ),
            self._library.mario_exploration_destroy,
        )
        self._address = self._handle.address
        if engine_path is not None:
            name = str(engine_path).encode()
            check(self._library, self._library.mario_exploration_set_engine(self._address, name))

    def run(self, num_frames: int, frames_after_goal: int = FOREVER) -> ExplorationStatus:
        """Searches until so many frames have been run since the beginning, or since the goal was first reached.

        A call cannot be interrupted, so it is best divided into short ones.
        """
        in_range("num_frames", num_frames, 0, FOREVER)
        in_range("frames_after_goal", frames_after_goal, 0, FOREVER)
        check(self._library, self._library.mario_exploration_run(self._address, num_frames, frames_after_goal))
        return self.status()

    def add_paths(self, paths: Sequence[ActionPath]) -> None:
        """Plays paths from the start and keeps what they reach. Beginnings that several share are played once."""
        ends = np.cumsum([len(path) for path in paths], dtype=np.uint64)
        actions = np.concatenate([np.asarray(path, np.uint8) for path in paths] or [np.zeros(0, np.uint8)])
        status = self._library.mario_exploration_add_paths(
            self._address, actions.ctypes.data, len(actions), ends.ctypes.data, len(ends)
        )
        check(self._library, status)

    def status(self) -> ExplorationStatus:
        status = ExplorationStatus()
        self._library.mario_exploration_get_status(self._address, ctypes.byref(status))
        return status

    def cells(self) -> npt.NDArray[Any]:
        """All cells in the order of their discovery, the start first; fields as in `mario_cell`. [C]"""
        cells = np.zeros(self.status().num_cells, SEARCHED_CELL_DTYPE)
        check(self._library, self._library.mario_exploration_get_cells(self._address, cells.ctypes.data, len(cells)))
        return cells

    def path_to(self, cell: int, num_steps: int) -> ActionPath:
        """The actions that lead to a cell; `num_steps` is its `steps`."""
        actions = np.zeros(num_steps, np.uint8)
        status = self._library.mario_exploration_get_path(
            self._address, in_range("cell", cell, 0, NEVER), actions.ctypes.data, len(actions)
        )
        check(self._library, status)
        return actions

    def state_of(self, cell: int) -> bytes:
        """The save-state that is kept in a cell."""
        state = ctypes.create_string_buffer(self._library.mario_state_bytes())
        status = self._library.mario_exploration_get_state(
            self._address, in_range("cell", cell, 0, NEVER), state, len(state)
        )
        check(self._library, status)
        return state.raw

    def best_path(self) -> ActionPath | None:
        """The shortest path to the goal that was found, one action per step."""
        actions = np.zeros(self.status().best_steps, np.uint8)
        if not len(actions):
            return None
        check(
            self._library,
            self._library.mario_exploration_get_best_path(self._address, actions.ctypes.data, len(actions)),
        )
        return actions
