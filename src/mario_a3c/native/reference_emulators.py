"""Other people's NES emulators behind one small interface, to compare with: speed in `mario bench`, bytes in tests.

None of them is needed to play or to train. `pip install -e '.[reference]'` brings stable-retro (FCEUmm) and cynes;
nes-py wants another pyglet than stable-retro, so it is installed by itself: `pip install --no-deps nes-py==8.2.1`.
"""

import ctypes
import importlib
import importlib.util
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import SetupError

Bytes = npt.NDArray[np.uint8]


class ReferenceEmulator(Protocol):
    """Switched on when made. Buttons are bits as in `Console`."""

    def __init__(self, rom_path: Path) -> None: ...

    def run_frame(self, buttons: int) -> None: ...

    def ram(self) -> Bytes:
        """A copy of the 2,048 bytes of work RAM."""
        ...

    def screen(self) -> Bytes:
        """[H, W, 3]; some show less than 240 x 256."""
        ...


class NesPy:
    """nes-py's emulator without its Python part, which breaks on NumPy 2 and needs gym (8.x) or pyglet.

    A step is 29,781 cycles instead of a frame, so it ends ever later in the picture.
    """

    def __init__(self, rom_path: Path) -> None:
        folder = self._folder()
        self._emulator: _NesPyLibrary | _NesPyModule
        self._emulator = _NesPyModule(rom_path) if any(folder.glob("_native*.so")) else _NesPyLibrary(folder, rom_path)
        # RAM, to be written, too: the games of a package that builds on nes-py are set up by poking it.
        self.memory: Bytes = self._emulator.memory()

    def run_frame(self, buttons: int) -> None:
        self._emulator.run_frame(buttons)

    def ram(self) -> Bytes:
        return np.array(self.memory)

    def screen(self) -> Bytes:
        return self._emulator.screen()

    def reset(self) -> None:
        self._emulator.reset()

    def save(self) -> None:
        """Keeps the state; there is one place for it."""
        self._emulator.save()

    def restore(self) -> None:
        self._emulator.restore()

    @staticmethod
    def _folder() -> Path:
        spec = importlib.util.find_spec("nes_py")
        if spec is None or not spec.submodule_search_locations:
            raise SetupError(
                "nes-py is not installed; `pip install --no-deps nes-py` installs it, 8.2.1 on Python 3.10 to 3.12, "
                "9 and later from 3.13 on"
            )
        return Path(spec.submodule_search_locations[0])


class _NesPyLibrary:
    """8.x: a shared library with C functions."""

    def __init__(self, folder: Path, rom_path: Path) -> None:
        (path,) = folder.glob("lib_nes_env*.so")
        self._library = self._load(path)
        self._emulator = self._library.Initialize(str(rom_path))
        self._library.Reset(self._emulator)
        self._controller: Bytes = self._view(self._library.Controller(self._emulator, 0), 1)
        self._screen: Bytes = self._view(self._library.Screen(self._emulator), 240 * 256 * 4)

    def __del__(self) -> None:
        if hasattr(self, "_emulator"):
            self._library.Close(self._emulator)

    def run_frame(self, buttons: int) -> None:
        self._controller[0] = buttons
        self._library.Step(self._emulator)

    def memory(self) -> Bytes:
        return self._view(self._library.Memory(self._emulator), 2048)

    def screen(self) -> Bytes:
        # Four bytes a pixel: blue, green, red, nothing.
        return np.array(self._screen.reshape(240, 256, 4)[:, :, 2::-1])

    def reset(self) -> None:
        self._library.Reset(self._emulator)

    def save(self) -> None:
        self._library.Backup(self._emulator)

    def restore(self) -> None:
        self._library.Restore(self._emulator)

    @staticmethod
    def _load(path: Path) -> ctypes.CDLL:
        library = ctypes.CDLL(str(path))
        for name, result, arguments in (
            ("Initialize", ctypes.c_void_p, [ctypes.c_wchar_p]),
            ("Controller", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_uint]),
            ("Screen", ctypes.c_void_p, [ctypes.c_void_p]),
            ("Memory", ctypes.c_void_p, [ctypes.c_void_p]),
            ("Reset", None, [ctypes.c_void_p]),
            ("Step", None, [ctypes.c_void_p]),
            ("Backup", None, [ctypes.c_void_p]),
            ("Restore", None, [ctypes.c_void_p]),
            ("Close", None, [ctypes.c_void_p]),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library

    @staticmethod
    def _view(address: int, num_bytes: int) -> Bytes:
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (num_bytes,))


class _NesPyModule:
    """9.x: an extension module, found beside the package's own files so that those are not imported."""

    def __init__(self, rom_path: Path) -> None:
        self._emulator = self._load().NativeEmulator(str(rom_path))
        self._emulator.reset()

    def run_frame(self, buttons: int) -> None:
        self._emulator.frame_advance(buttons)

    def memory(self) -> Bytes:
        memory: Bytes = self._emulator.ram_buffer()
        return memory

    def screen(self) -> Bytes:
        return np.array(self._emulator.copy_screen_rgb())

    def reset(self) -> None:
        self._emulator.reset()

    def save(self) -> None:
        self._emulator.backup()

    def restore(self) -> None:
        self._emulator.restore()

    @staticmethod
    def _load() -> Any:
        (path,) = NesPy._folder().glob("_native*.so")
        spec = importlib.util.spec_from_file_location("nes_py._native", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


class StableRetro:
    """FCEUmm, through stable-retro's emulator class, which plays any file. One may exist per process."""

    # B, Y, select, start, up, down, left, right, A: the order of a libretro pad.
    _PAD = (2, 0, 4, 8, 16, 32, 64, 128, 1)

    def __init__(self, rom_path: Path) -> None:
        self._emulator = _import("stable_retro").RetroEmulator(str(rom_path))
        self._mask = np.zeros(16, np.uint8)
        self._ram_offset: int | None = None

    def run_frame(self, buttons: int) -> None:
        self._mask[: len(self._PAD)] = [bool(buttons & bit) for bit in self._PAD]
        self._emulator.set_button_mask(self._mask, 0)
        self._emulator.step()

    def ram(self) -> Bytes:
        state = self._emulator.get_state()
        if self._ram_offset is None:
            self._ram_offset = state.index(b"RAM\0\x00\x08\x00\x00") + 8  # a chunk's name and its length
        return np.frombuffer(state, np.uint8, 2048, self._ram_offset)

    def screen(self) -> Bytes:
        return np.asarray(self._emulator.get_screen())

    def save(self) -> bytes:
        return bytes(self._emulator.get_state())

    def load(self, state: bytes) -> None:
        self._emulator.set_state(state)

    def close(self) -> None:
        """Another may exist from now on."""
        del self._emulator


class Cynes:
    """cynes, a C++ emulator with Python bindings."""

    # Its bits run from right (1) to A (128).
    _REVERSED = tuple(int(f"{buttons:08b}"[::-1], 2) for buttons in range(256))

    def __init__(self, rom_path: Path) -> None:
        self._emulator = _import("cynes").NES(str(rom_path))
        self._screen: Bytes = np.zeros((240, 256, 3), np.uint8)

    def run_frame(self, buttons: int) -> None:
        self._emulator.controller = self._REVERSED[buttons]
        self._screen = self._emulator.step()

    def ram(self) -> Bytes:
        return np.array([self._emulator[address] for address in range(2048)], np.uint8)

    def screen(self) -> Bytes:
        return np.array(self._screen)


def installed_references() -> dict[str, type[ReferenceEmulator]]:
    """The emulators that can be used here, by the name of their package."""
    references: dict[str, tuple[str, type[ReferenceEmulator]]] = {
        "nes-py": ("nes_py", NesPy),
        "stable-retro": ("stable_retro", StableRetro),
        "cynes": ("cynes", Cynes),
    }
    return {
        name: emulator
        for name, (module, emulator) in references.items()
        if importlib.util.find_spec(module) is not None
    }


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SetupError(
            f"{module} cannot be imported ({error}); `pip install -e '.[reference]'` installs it"
        ) from error
