"""One NES, for tools, tests and people."""

import ctypes
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheDir
from mario_a3c.native.bindings import CpuRecord, GameRecord
from mario_a3c.native.config import Engine
from mario_a3c.native.engine import EngineUser
from mario_a3c.native.game_record import read_game
from mario_a3c.native.library import check, load_library
from mario_a3c.native.rom import open_rom
from mario_a3c.native.view import SCREEN_RGB, View

RAM_BYTES = 2048
PRG_RAM_BYTES = 8192
# A call cannot be interrupted; an hour of the game takes seconds.
MAX_FRAMES_PER_CALL = 216_000


class Console(EngineUser):
    """A console with a cartridge in it, switched on.

    Buttons are bits: A 1, B 2, select 4, start 8, up 16, down 32, left 64, right 128. One thread at a time may use a
    console; the GIL is free while it runs.
    """

    def __init__(
        self,
        rom_path: Path | str,
        engine: Engine = "interpreter",
        *,
        cache: CacheDir | None = None,
        allow_unknown_rom: bool = False,
    ) -> None:
        """`recompiled` takes the engine from the cache, or compiles it into it first, which takes half a minute.

        `auto` does that in the background, begins with the interpreter and changes over when the engine is there.
        """
        self._library = load_library()
        self.rom = open_rom(Path(rom_path), allow_unknown=allow_unknown_rom)
        file = self.rom.cartridge.file
        self._handle = Handle(
            lambda out: self._library.mario_console_create(file, len(file), out), self._library.mario_console_destroy
        )
        self._start_engine(engine, self.rom.cartridge, cache)
        self.ram = memory_of(self._handle, self._library.mario_console_ram(self._handle.address), RAM_BYTES)
        """The 2,048 bytes of work RAM, uint8, to be read and written between frames."""
        self.prg_ram: npt.NDArray[np.uint8] | None = None
        """The 8,192 bytes at $6000, uint8, where the cartridge has them."""
        if self.rom.cartridge.prg_ram_bytes:
            address = self._library.mario_console_prg_ram(self._handle.address)
            self.prg_ram = memory_of(self._handle, address, PRG_RAM_BYTES)

    def power_on(self, ram_fill: int = 0) -> None:
        """Switches off and on. Real RAM is then random; here every byte is `ram_fill`."""
        self._library.mario_console_power_on(self._handle.address, in_range("ram_fill", ram_fill, 0, 255))

    def reset(self) -> None:
        """Presses the reset button."""
        self._library.mario_console_reset(self._handle.address)

    def run_frame(self, buttons: int = 0, num_frames: int = 1) -> None:
        """Runs from vertical blank to vertical blank, `num_frames` times, with the same buttons held."""
        in_range("buttons", buttons, 0, 255)
        in_range("num_frames", num_frames, 0, MAX_FRAMES_PER_CALL)
        self.take_pending_engine()
        self._library.mario_console_run_frames(self._handle.address, buttons, num_frames)

    def screen(self) -> npt.NDArray[np.uint8]:
        """The picture of the last frame, [240, 256, 3] uint8."""
        return self.observe(SCREEN_RGB)

    def observe(self, view: View) -> npt.NDArray[np.uint8]:
        """A view of the picture of the last frame, of the view's shape."""
        picture = np.empty(view.shape, np.uint8)
        record = view.as_record()
        check(
            self._library,
            self._library.mario_console_observe(
                self._handle.address, ctypes.byref(record), picture.ctypes.data, picture.nbytes
            ),
        )
        return picture

    def game(self) -> GameRecord:
        """What the RAM says about the game, as it is now: `console.game().x`."""
        return read_game(self.ram)

    def save(self) -> bytes:
        """The whole state. It names its ROM and version, and carries a checksum."""
        state = ctypes.create_string_buffer(self._library.mario_state_bytes())
        check(self._library, self._library.mario_console_save(self._handle.address, state, len(state)))
        return state.raw

    def load(self, state: bytes) -> None:
        """Continues from a saved state. SaveStateError leaves the console as it was."""
        check(self._library, self._library.mario_console_load(self._handle.address, state, len(state)))

    def set_idle_skip(self, is_on: bool) -> None:
        """Whether loops that only wait are skipped (as they are at first). The states are the same; tests prove it."""
        self._library.mario_console_set_idle_skip(self._handle.address, is_on)

    def run_to_cycle(self, buttons: int, cycle: int) -> None:
        """Runs whole instructions until a CPU cycle is reached, across frames; to compare with other machines.

        A state that is saved within a frame may be refused when it is loaded.
        """
        in_range("buttons", buttons, 0, 255)
        in_range("cycle", cycle, 0, self.registers().cycle + MAX_FRAMES_PER_CALL * 30_000)
        self._library.mario_console_run_to_cycle(self._handle.address, buttons, cycle)

    def registers(self) -> CpuRecord:
        """The CPU between two instructions: `cycle` (since power-on), `pc`, `a`, `x`, `y`, `s`, `p`."""
        record = CpuRecord()
        self._library.mario_console_cpu(self._handle.address, ctypes.byref(record))
        return record

    @property
    def frame_count(self) -> int:
        """Frames since power-on."""
        return int(self._library.mario_console_frame_count(self._handle.address))

    @property
    def num_lag_frames(self) -> int:
        """Frames since power-on in which the program did not read the controller."""
        return int(self._library.mario_console_lag_frames(self._handle.address))

    @property
    def is_jammed(self) -> bool:
        """Whether the CPU has met an instruction that stops it for good."""
        return bool(self._library.mario_console_is_jammed(self._handle.address))

    def _give_engine(self, path: bytes | None) -> int:
        return int(self._library.mario_console_set_engine(self._handle.address, path))


def in_range(name: str, value: int, least: int, most: int) -> int:
    """ctypes cuts integers to size without a word, so they are checked on this side."""
    if not least <= value <= most:
        raise ValueError(f"{name} must be in [{least}, {most}], got {value}")
    return value


class Handle:
    """An object of the native library. It lives as long as anything that looks into its memory."""

    def __init__(self, create: Callable[[object], int], destroy: Callable[[int], None]) -> None:
        pointer = ctypes.c_void_p()
        check(load_library(), create(ctypes.byref(pointer)))
        assert pointer.value is not None
        self.address = pointer.value
        weakref.finalize(self, destroy, pointer.value)


class _NativeMemory:
    """Bytes of a handle, in the form NumPy takes; the array made from it keeps this, and this keeps the handle."""

    def __init__(self, handle: Handle, address: int, num_bytes: int) -> None:
        self._handle = handle
        self.__array_interface__ = {"shape": (num_bytes,), "typestr": "|u1", "data": (address, False), "version": 3}


def memory_of(handle: Handle, address: int, num_bytes: int) -> npt.NDArray[np.uint8]:
    """An array over native memory."""
    return np.asarray(_NativeMemory(handle, address, num_bytes), np.uint8)
