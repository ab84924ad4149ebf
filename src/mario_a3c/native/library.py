"""Finds, checks and loads the native library.

Two builds may lie around: the one pip installed and the one of a plain `cmake` build in `build/`. The first that
fits is taken. In a checkout "fits" includes the hash of the sources, so a library that is older than the code
beside it is refused instead of behaving like yesterday.
"""

import ctypes
import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from mario_a3c.errors import EngineError, NativeLibraryError, RomError, SaveStateError
from mario_a3c.native.bindings import ABI_VERSION, RECORDS, SIGNATURES, Status

FILE_NAME = "libmario_native.dylib" if sys.platform == "darwin" else "libmario_native.so"
HOW_TO_BUILD = "build it with `pip install -e .`, or with `cmake -S native -B build && cmake --build build`"


@functools.cache
def load_library() -> ctypes.CDLL:
    """The first library that fits, loaded once per process."""
    refused = []
    for path in candidates():
        try:
            return open_library(path)
        except NativeLibraryError as error:
            refused.append(f"\n  {error}")
    if not refused:
        raise NativeLibraryError(f"the native library ({FILE_NAME}) has not been built; {HOW_TO_BUILD}")
    raise NativeLibraryError(f"no native library fits:{''.join(refused)}\n{HOW_TO_BUILD}")


def check(library: ctypes.CDLL, status: int) -> None:
    """Turns a status other than OK into an exception with the library's own sentence."""
    if status == Status.OK:
        return
    reason = library.mario_last_error().decode()
    if status == Status.BAD_CARTRIDGE:
        raise RomError(reason)
    if status == Status.BAD_STATE:
        raise SaveStateError(reason)
    if status == Status.BAD_ENGINE:
        raise EngineError(reason)
    if status == Status.BAD_ARGUMENT:
        raise ValueError(reason)
    raise NativeLibraryError(f"the native library failed: {reason}")


def candidates() -> Iterator[Path]:
    """Existing library files, in the order they are tried."""
    # An editable install spreads this package over two folders: the sources, and what was compiled for them.
    folders = [Path(folder) for folder in _package_folders()]
    checkout = _checkout()
    if checkout is not None:
        folders.append(checkout / "build")
    for folder in folders:
        if (folder / FILE_NAME).exists():
            yield folder / FILE_NAME


def open_library(path: Path) -> ctypes.CDLL:
    """Loads one file and refuses it unless it is ours, of this ABI, and as new as its sources."""
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except OSError as error:
        raise NativeLibraryError(f"{path} cannot be loaded: {error}") from error
    except AttributeError as error:
        raise NativeLibraryError(f"{path} is not the library of this version: {error}") from error
    _check_abi(path, library)
    _check_sources(path, library)
    return library


def source_hash(native_folder: Path) -> str:
    """The hash that `cmake/source_hash.cmake` compiled into the library, computed from the files again."""
    patterns = ("CMakeLists.txt", "cmake/**/*.cmake", "include/**/*.h", "src/**/*.h", "src/**/*.cpp")
    files = (path for pattern in patterns for path in native_folder.glob(pattern) if path.is_file())
    names = sorted(path.relative_to(native_folder).as_posix() for path in files)
    digests = (hashlib.sha256((native_folder / name).read_bytes()).hexdigest() for name in names)
    listing = "".join(f"{name} {digest}\n" for name, digest in zip(names, digests, strict=True))
    return hashlib.sha256(listing.encode()).hexdigest()


def _check_abi(path: Path, library: ctypes.CDLL) -> None:
    version = library.mario_abi_version()
    if version != ABI_VERSION:
        raise NativeLibraryError(f"{path} speaks version {version} of the boundary, this package version {ABI_VERSION}")
    for size_function, record in RECORDS.items():
        size = getattr(library, size_function)()
        if size != ctypes.sizeof(record):
            raise NativeLibraryError(f"{path} has a {record.__name__} of {size} bytes, not {ctypes.sizeof(record)}")


def _check_sources(path: Path, library: ctypes.CDLL) -> None:
    checkout = _checkout()
    if checkout is not None and library.mario_source_hash().decode() != source_hash(checkout / "native"):
        raise NativeLibraryError(
            f"{path} was built from other sources than those in {checkout / 'native'}: it is stale"
        )


def _package_folders() -> list[str]:
    import mario_a3c.native

    return list(mario_a3c.native.__path__)


def _checkout() -> Path | None:
    """The repository this file lies in, when it lies in one."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "native" / "CMakeLists.txt").exists() else None
