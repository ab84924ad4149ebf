"""Many consoles with one cartridge, stepped together into arrays that are made once."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.native.bindings import BatchRecord
from mario_a3c.native.config import Engine
from mario_a3c.native.console import RAM_BYTES, Handle, in_range, memory_of
from mario_a3c.native.engine import EngineUser
from mario_a3c.native.game_record import GAME_DTYPE
from mario_a3c.native.library import check, load_library
from mario_a3c.native.rom import open_rom
from mario_a3c.native.view import View

NO_SNAPSHOT = -1
_FLAGS = np.dtype([("lag_frames", np.uint32), ("is_jammed", np.uint32)])


class BatchConsole(EngineUser):
    """N consoles and the arrays through which they are driven. The arrays are made once and written in place:

    | array          | dtype  | shape            | meaning                                                             |
    | -------------- | ------ | ---------------- | ------------------------------------------------------------------- |
    | `buttons`      | uint8  | [N]              | you write: what each console's controller holds during a step       |
    | `snapshots`    | int32  | [N]              | you write: -1 to run, or the snapshot that the console becomes      |
    | `observations` | uint8  | [N, *view.shape] | the view of the last frame; [N, 84, 84] by default                  |
    | `ram`          | uint8  | [N, K]           | the bytes at `ram_addresses`, or all 2,048                          |
    | `lag_frames`   | uint32 | [N]              | frames of the step in which the program did not read the controller |
    | `is_jammed`    | uint32 | [N]              | 1 where the CPU has stopped for good                                |
    | `games`        | record | [N]              | what the RAM says about the game: `games["x"]`, `games["is_dying"]` |

    The result of a step depends on neither the number of threads nor N. One thread at a time may use a batch; the GIL
    is free while it steps.
    """

    def __init__(
        self,
        rom_path: Path | str,
        num_consoles: int,
        *,
        frame_skip: int = 4,
        num_threads: int = 0,
        view: View | None = None,
        takes_maximum: bool = False,
        ram_addresses: Sequence[int] | None = None,
        num_snapshots: int = 64,
        ram_fill: int = 0,
        engine: Engine = "interpreter",
        cache: CacheDir | None = None,
        allow_unknown_rom: bool = False,
    ) -> None:
        """`num_threads` 0 takes all cores; `takes_maximum` keeps the brighter pixel of the last two frames."""
        self._library = load_library()
        self.rom = open_rom(Path(rom_path), allow_unknown=allow_unknown_rom)
        self.view = view or View()
        self.num_consoles = in_range("num_consoles", num_consoles, 1, 1 << 20)
        in_range("frame_skip", frame_skip, 1, 1000)
        in_range("num_threads", num_threads, 0, 1024)
        in_range("num_snapshots", num_snapshots, 0, 1 << 20)
        in_range("ram_fill", ram_fill, 0, 255)
        addresses = np.array(ram_addresses if ram_addresses is not None else [], np.uint16)
        record = BatchRecord(
            num_consoles,
            num_threads,
            frame_skip,
            num_snapshots,
            ram_fill,
            takes_maximum,
            len(addresses),
            self.view.as_record(),
        )
        file = self.rom.cartridge.file
        self._handle = Handle(
            lambda out: self._library.mario_batch_create(
                file, len(file), ctypes.byref(record), addresses.ctypes.data, out
            ),
            self._library.mario_batch_destroy,
        )
        self.address = self._handle.address
        self._start_engine(engine, self.rom.cartridge, cache)
        self._copy = self._library.mario_batch_copy
        self.num_threads = int(self._library.mario_batch_num_threads(self.address))
        self.buttons = np.zeros(num_consoles, np.uint8)
        self.snapshots = np.full(num_consoles, NO_SNAPSHOT, np.int32)
        self.observations = np.zeros((num_consoles, *self.view.shape), np.uint8)
        self.ram = np.zeros((num_consoles, len(addresses) or RAM_BYTES), np.uint8)
        flags = np.zeros(num_consoles, _FLAGS)
        self.lag_frames: npt.NDArray[np.uint32] = flags["lag_frames"]
        self.is_jammed: npt.NDArray[np.uint32] = flags["is_jammed"]
        self.games = np.zeros(num_consoles, GAME_DTYPE)
        # Asking an array for its address takes microseconds, so it is done once.
        self._inputs = (self.address, self.buttons.ctypes.data, self.snapshots.ctypes.data)
        self._observations = self.observations.ctypes.data
        self._outputs = (self.ram.ctypes.data, flags.ctypes.data, self.games.ctypes.data)
        self._flags = flags

    def step(self, observations: npt.NDArray[np.uint8] | None = None, *, draws: bool = True) -> None:
        """Runs `frame_skip` frames on every console, except those that become a snapshot, and fills the arrays.

        The picture goes into `observations` where an array is given (contiguous, of the shape of `self.observations`),
        and is not made at all without `draws`. Snapshot requests hold for this step alone.
        """
        self.take_pending_engine()
        target: int | None = self._observations
        if not draws:
            target = None
        elif observations is not None:
            self._check_target(observations)
            target = observations.ctypes.data
        status = self._library.mario_batch_step(*self._inputs, target, *self._outputs)
        check(self._library, status)
        self.snapshots.fill(NO_SNAPSHOT)

    def share_threads(self, other: "BatchConsole") -> None:
        """From the next step on this batch is stepped by the threads of another; both may be stepped at the same time,
        from two threads of Python."""
        check(self._library, self._library.mario_batch_share_threads(self.address, other.address))
        self.num_threads = other.num_threads

    def set_snapshot(self, snapshot: int, state: bytes) -> None:
        """Keeps a saved state as the place that `snapshots` names."""
        check(self._library, self._library.mario_batch_set_snapshot(self.address, snapshot, state, len(state)))

    def take_snapshot(self, snapshot: int, console: int) -> None:
        """Keeps a console's present state as the place that `snapshots` names."""
        check(self._library, self._library.mario_batch_take_snapshot(self.address, snapshot, console))

    def copy(self, *, to: int, source: int) -> None:
        """Makes one console's state another's."""
        status = self._copy(self.address, to, source)
        if status:  # asked here as well: the call to check() would double the time this takes
            check(self._library, status)

    def save(self, console: int) -> bytes:
        state = ctypes.create_string_buffer(self._library.mario_state_bytes())
        check(self._library, self._library.mario_batch_save(self.address, console, state, len(state)))
        return state.raw

    def load(self, console: int, state: bytes) -> None:
        """Continues one console from a saved state. SaveStateError leaves it as it was."""
        check(self._library, self._library.mario_batch_load(self.address, console, state, len(state)))

    def ram_of(self, console: int) -> npt.NDArray[np.uint8]:
        """One console's own 2,048 bytes, to be read and written between steps."""
        address = self._library.mario_batch_ram(self.address, console)
        if address is None:
            raise IndexError(f"console {console} of {self.num_consoles}")
        return memory_of(self._handle, address, RAM_BYTES)

    def observe(self, console: int, view: View) -> npt.NDArray[np.uint8]:
        """Another view of the last frame of one console, of that view's shape."""
        picture = np.empty(view.shape, np.uint8)
        record = view.as_record()
        in_range("console", console, 0, self.num_consoles - 1)
        status = self._library.mario_batch_observe(
            self.address, console, ctypes.byref(record), picture.ctypes.data, picture.nbytes
        )
        check(self._library, status)
        return picture

    def _give_engine(self, path: bytes | None) -> int:
        return int(self._library.mario_batch_set_engine(self.address, path))

    def _check_target(self, observations: npt.NDArray[Any]) -> None:
        expected = self.observations
        fits = observations.shape == expected.shape and observations.dtype == np.uint8
        if not (fits and observations.flags.c_contiguous and observations.flags.writeable):
            raise ValueError(
                f"observations must be a writable, contiguous uint8 array of shape {expected.shape}, "
                f"got {observations.dtype} {observations.shape}"
            )
