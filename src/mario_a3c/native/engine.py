"""Compiled engines: the program of a cartridge as native code, made on this machine and kept in the cache.

An entry is one file, `<cartridge>-<library>-<digest>.so`: the cartridge's SHA-1, the hash of the library's sources, and
the SHA-256 of the file itself. A file that does not have the digest it is named after is damaged, half-written or not
ours, and is never loaded. Two processes that compile at once each put a whole file there, and either serves.

What is compiled derives from the ROM, so it stays in the cache.
"""

import contextlib
import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.errors import EngineError, MarioError
from mario_a3c.native.background_engine import BackgroundBuild
from mario_a3c.native.cartridge import Cartridge
from mario_a3c.native.config import Engine
from mario_a3c.native.cores import num_cores
from mario_a3c.native.library import check, load_library

LOG = logging.getLogger("mario.engine")

# Without optimisation the blocks' jumps would be calls, and the stack would not last a frame.
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-w")
# Of GCC on x86-64. Blocks jump to each other and return to one place, which saves this register for all of them; and
# what a frame executes is larger than the first cache, so it lies densely, in the order in which it was written.
_GCC_FLAGS = (
    "-fcall-used-r14",
    "-fno-toplevel-reorder",
    *(f"-falign-{what}=1" for what in ("functions", "jumps", "labels", "loops")),
)
_COMPILERS = ("c++", "g++", "clang++")
_COMPILE_TIMEOUT_SECONDS = 900.0
_LINK_TIMEOUT_SECONDS = 120.0
_PART_BYTES = 150_000  # of text; small enough to share the work among many cores, and to compile in seconds
_MAX_PARTS = 16
_PROGRESS_SECONDS = 0.5
_LOOK_SECONDS = 0.2
_ABANDONED_SECONDS = 24 * 3600.0
_BUILD_PREFIX = ".build-"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a compilation is."""

    num_done: int
    num_parts: int
    elapsed_seconds: float


OnProgress = Callable[[Progress], None]

# Why no engine could be had: asked for again in this process, the answer is the same and costs no second compilation.
_refused: dict[tuple[Path, str], EngineError] = {}


class EngineUser:
    """A console or a batch: the interpreter runs its frames until a compiled engine is there, if one is wanted.

    The states are the same, so the change may come between any two frames.
    """

    engine: Engine = "interpreter"
    """What runs the frames now: `interpreter` or `recompiled`."""
    _pending_engine: "_PendingEngine | None" = None

    def set_engine(self, path: Path | None) -> None:
        """From now on frames are run by a compiled engine of this cartridge, or by the interpreter again.

        EngineError, where the engine is another cartridge's or version's, changes nothing.
        """
        library = load_library()
        check(library, self._give_engine(None if path is None else str(path).encode()))
        self.engine = "interpreter" if path is None else "recompiled"
        self._pending_engine = None

    def wait_for_engine(self, timeout_seconds: float) -> Engine:
        """Waits for a compilation in the background, if there is one. Says what runs the frames then."""
        if self._pending_engine is not None:
            self._pending_engine.build.wait(timeout_seconds)
            self._pending_engine.next_look = 0.0
            self.take_pending_engine()
        return self.engine

    def _give_engine(self, path: bytes | None) -> int:
        """Hands the file to the library; its status."""
        raise NotImplementedError

    def _start_engine(self, wanted: Engine, cartridge: Cartridge, cache: CacheDir | None) -> None:
        """`recompiled` compiles first where the cache has no engine, and raises EngineError where none can be had.

        `auto` takes what the cache has; else it is compiled in the background. Where it cannot be had, the interpreter
        goes on and the reason is logged, once.
        """
        if wanted not in ("auto", "interpreter", "recompiled"):
            raise ValueError(f"engine must be 'auto', 'interpreter' or 'recompiled', got {wanted!r}")
        if wanted == "interpreter":
            return
        if wanted == "recompiled":
            _attach_compiled(cartridge, cache or CacheDir.open(CacheConfig()), self.set_engine)
            return
        try:
            cache = cache or CacheDir.open(CacheConfig())
            if (cache.root, _key(cartridge)) not in _refused and find_engine(cartridge, cache) is None:
                find_compiler()
                self._pending_engine = _PendingEngine(_build_of(cartridge, cache), cartridge, cache)
            else:
                _attach_compiled(cartridge, cache, self.set_engine)
        except MarioError as error:
            _log_once(error)

    def take_pending_engine(self) -> None:
        """For every step or frame: takes the engine if the compilation has ended."""
        pending = self._pending_engine
        if pending is None or time.monotonic() < pending.next_look:
            return
        pending.next_look = time.monotonic() + _LOOK_SECONDS
        try:
            if pending.build.is_over():
                self._pending_engine = None
                _attach_compiled(pending.cartridge, pending.cache, self.set_engine)
        except EngineError as error:
            self._pending_engine = None
            _refused[pending.cache.root, _key(pending.cartridge)] = error
            _log_once(error)


@dataclass(slots=True)
class _PendingEngine:
    build: BackgroundBuild
    cartridge: Cartridge
    cache: CacheDir
    next_look: float = 0.0


def find_engine_for(engine: Engine, cartridge: Cartridge, cache: CacheDir) -> Path | None:
    """The file of the engine that serves, None for the interpreter; for work that waits for the compilation.

    `recompiled` raises EngineError where none can be had; `auto` leaves it to the interpreter and logs the reason once.
    """
    if engine == "interpreter":
        return None
    try:
        return obtain_engine(cartridge, cache)
    except MarioError as error:
        if engine == "recompiled":
            raise
        _log_once(error)
        return None


def obtain_engine(cartridge: Cartridge, cache: CacheDir, on_progress: OnProgress | None = None) -> Path:
    """The engine from the cache, compiled first where it is not there."""
    found = find_engine(cartridge, cache)
    if found is not None:
        return found
    LOG.info("compiling the game's program for this machine: half a minute, once")
    return build_engine(cartridge, cache, on_progress)


def find_engine(cartridge: Cartridge, cache: CacheDir) -> Path | None:
    """A whole engine of this cartridge and this library, if the cache has one. Damaged ones are removed."""
    key = _key(cartridge)
    for path in sorted(cache.folder("engines").glob(f"{key}-*.so")):
        with contextlib.suppress(OSError):
            if path.stem == f"{key}-{_digest(path)}":
                return path
            LOG.warning("the cached engine %s is damaged; it is made again", path.name)
            path.unlink(missing_ok=True)
    return None


def build_engine(cartridge: Cartridge, cache: CacheDir, on_progress: OnProgress | None = None) -> Path:
    """Compiles the cartridge's program into the cache, whole or not at all. EngineError says what failed."""
    compiler = find_compiler()
    folder = cache.folder("engines")
    try:
        _remove_abandoned_builds(folder)
        build = Path(tempfile.mkdtemp(prefix=_BUILD_PREFIX, dir=folder))
        try:
            made = _compile(compiler, cartridge, build, on_progress)
            target = folder / f"{_key(cartridge)}-{_digest(made)}.so"
            os.replace(made, target)
        finally:
            shutil.rmtree(build, ignore_errors=True)
    except OSError as error:
        raise EngineError(
            f"the engine cannot be written to {folder}: {error.strerror or error}; "
            "free some space or choose another folder with --cache-dir"
        ) from error
    return target


def find_compiler() -> list[str]:
    """The C++ compiler of this machine, with the arguments that $CXX gives it."""
    wanted = shlex.split(os.environ.get("CXX", ""))
    for command in [wanted] if wanted else [[name] for name in _COMPILERS]:
        found = shutil.which(command[0])
        if found is not None:
            return [found, *command[1:]]
    looked_for = f"$CXX is {shlex.join(wanted)}" if wanted else f"looked for {', '.join(_COMPILERS)}"
    raise EngineError(f"no C++ compiler was found ({looked_for}); install g++ or clang, or name one with CXX")


def write_parts(cartridge: Cartridge, num_parts: int) -> Iterator[bytes]:
    """The cartridge's program as C++: files to be compiled separately and linked together."""
    library = load_library()
    file = cartridge.file
    for part in range(num_parts):
        length = ctypes.c_size_t()
        check(library, library.mario_write_engine(file, len(file), part, num_parts, None, ctypes.byref(length)))
        text = ctypes.create_string_buffer(length.value)
        check(library, library.mario_write_engine(file, len(file), part, num_parts, text, ctypes.byref(length)))
        yield text.raw


def _attach_compiled(cartridge: Cartridge, cache: CacheDir, attach: Callable[[Path], None]) -> None:
    name = (cache.root, _key(cartridge))
    if name in _refused:
        raise _refused[name]
    try:
        path = obtain_engine(cartridge, cache)
        try:
            attach(path)
        except EngineError as error:
            # Whole, and yet not ours: somebody else's file under our name.
            LOG.warning("the cached engine is refused (%s); it is made again", error)
            with contextlib.suppress(OSError):
                path.unlink()
            attach(build_engine(cartridge, cache))
    except EngineError as error:
        _refused[name] = error
        raise


_builds: dict[tuple[Path, str], BackgroundBuild] = {}


def _build_of(cartridge: Cartridge, cache: CacheDir) -> BackgroundBuild:
    """The one compilation of this cartridge, however many consoles wait for it."""
    name = (cache.root, _key(cartridge))
    if name not in _builds:
        _builds[name] = BackgroundBuild(cartridge, cache)
    return _builds[name]


_logged: set[str] = set()


def _log_once(error: MarioError) -> None:
    reason = str(error)
    if reason not in _logged:
        _logged.add(reason)
        LOG.warning("the interpreter runs the game, about fourteen times slower than compiled code: %s", reason)


def _key(cartridge: Cartridge) -> str:
    return f"{cartridge.sha1}-{load_library().mario_source_hash().decode()[:16]}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _gcc_flags(compiler: list[str]) -> tuple[str, ...]:
    """Those flags, where this compiler knows them and the machine has such a register."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    command = [*compiler, *_GCC_FLAGS, "-fsyntax-only", "-x", "c++", os.devnull]
    try:
        tried = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_LINK_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _GCC_FLAGS if tried.returncode == 0 else ()


def _compile(compiler: list[str], cartridge: Cartridge, build: Path, on_progress: OnProgress | None) -> Path:
    whole = next(write_parts(cartridge, 1))
    num_parts = min(_MAX_PARTS, max(1, len(whole) // _PART_BYTES))
    sources = []
    for part, text in enumerate(write_parts(cartridge, num_parts)):
        sources.append(build / f"part{part}.cpp")
        sources[-1].write_bytes(text)
    objects = [source.with_suffix(".o") for source in sources]
    flags = (*_FLAGS, *_gcc_flags(compiler))
    commands = [
        [*compiler, *flags, "-c", str(source), "-o", str(made)] for source, made in zip(sources, objects, strict=True)
    ]
    _run_all(commands, on_progress)
    library = build / "engine.so"
    _run([*compiler, "-shared", "-o", str(library), *map(str, objects)], _LINK_TIMEOUT_SECONDS)
    if not library.is_file():
        raise EngineError(f"the compiler {compiler[0]} reported success and made nothing; name another with CXX")
    return library


def _run_all(commands: list[list[str]], on_progress: OnProgress | None) -> None:
    """Runs the compilers, as many at a time as this process has cores; the first failure ends it."""
    started = time.monotonic()
    with ThreadPoolExecutor(num_cores(), thread_name_prefix="mario-compile") as executor:
        waiting: set[Future[None]] = {executor.submit(_run, each, _COMPILE_TIMEOUT_SECONDS) for each in commands}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=_PROGRESS_SECONDS, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()
                if on_progress is not None:
                    elapsed = time.monotonic() - started
                    on_progress(Progress(len(commands) - len(waiting), len(commands), elapsed))
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _run(command: list[str], timeout_seconds: float) -> None:
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"the compiler {command[0]} did not finish in {timeout_seconds:.0f} s; name another with CXX"
        ) from error
    except OSError as error:
        raise EngineError(
            f"the compiler {command[0]} cannot be started: {error.strerror or error}; name another with CXX"
        ) from error
    if result.returncode != 0:
        raise EngineError(
            f"the compiler {command[0]} failed (exit {result.returncode}): {_complaint(result.stderr)}; "
            "mend it or name another with CXX"
        )


def _complaint(output: bytes) -> str:
    """The first line that names an error, else the last line: enough to know what to look for."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it said nothing")[:300]


def _remove_abandoned_builds(folder: Path) -> None:
    """What a compilation left that was killed."""
    for path in folder.glob(f"{_BUILD_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
