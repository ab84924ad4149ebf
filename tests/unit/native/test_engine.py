"""Compiled engines: the same bytes as the interpreter's, and a cache that survives whatever happens to it."""

import logging
import os
import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.errors import EngineError
from mario_a3c.native import BatchConsole, Console, engine
from mario_a3c.native.cartridge import parse_cartridge
from mario_a3c.native.engine import build_engine, find_engine, obtain_engine
from mario_a3c.native.library import load_library
from tests.support.cartridges import make_program_cartridge
from tests.support.random_program import make_random_program

Compiler = Callable[[str], None]

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="needs a C++ compiler, as the engine does"
)


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own as far as past failures go."""
    monkeypatch.setattr(engine, "_refused", {})
    monkeypatch.setattr(engine, "_logged", set())
    monkeypatch.setattr(engine, "_builds", {})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The usual program, and its engine: compiled once."""
    folder = tmp_path_factory.mktemp("compiled")
    rom = folder / "program.nes"
    rom.write_bytes(make_program_cartridge())
    cache = CacheDir.open(CacheConfig(cache_dir=folder / "cache"))
    return rom, obtain_engine(parse_cartridge(rom.read_bytes()), cache)


@pytest.fixture
def rom(compiled: tuple[Path, Path]) -> Path:
    return compiled[0]


@pytest.fixture
def compiler(tmp_path: Path, compiled: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Stands in for a compiler: a shell script, which finds the file to make in $out and a real engine in $engine."""

    def stand_in(script: str) -> None:
        path = tmp_path / "compiler"
        prelude = f"engine={compiled[1]}\necho >> {tmp_path}/calls"
        arguments = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done'
        path.write_text(f"#!/bin/sh\n{prelude}\n{arguments}\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))

    return stand_in


WORKING = 'cp "$engine" "$out"'


# ---- the same bytes


@pytest.mark.parametrize(("seed", "compiler_flag"), [(0, ""), (1, ""), (2, ""), (0, " -DMARIO_ENGINE_PORTABLE")])
def test_nonsense_runs_the_same_in_both_engines(
    seed: int, compiler_flag: str, tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", engine.find_compiler()[0] + compiler_flag)
    path = tmp_path / "nonsense.nes"
    path.write_bytes(make_random_program(seed, 400))
    compiled_engine = obtain_engine(parse_cartridge(path.read_bytes()), cache)
    slow, fast = (Console(path, allow_unknown_rom=True) for _ in range(2))
    fast.set_engine(compiled_engine)
    rng = random.Random(seed)
    for frame in range(1500):
        if frame % 3 == 0:
            ram = np.frombuffer(rng.randbytes(2048), np.uint8)
            for console in (slow, fast):
                console.ram[:] = ram
                console.reset()
        buttons = rng.randrange(256)
        slow.run_frame(buttons)
        fast.run_frame(buttons)
        assert slow.save() == fast.save(), f"frame {frame}"


def test_idle_loops_may_be_executed_by_either(compiled: tuple[Path, Path]) -> None:
    consoles = [Console(compiled[0], allow_unknown_rom=True) for _ in range(3)]
    for console in consoles[1:]:
        console.set_engine(compiled[1])
    consoles[2].set_idle_skip(False)
    for frame in range(100):
        for console in consoles:
            console.run_frame(frame)
        assert len({console.save() for console in consoles}) == 1


def test_an_engine_may_be_changed_between_any_two_frames(compiled: tuple[Path, Path]) -> None:
    steady, changing = (Console(compiled[0], allow_unknown_rom=True) for _ in range(2))
    for frame in range(60):
        changing.set_engine(compiled[1] if frame % 2 else None)
        steady.run_frame(frame)
        changing.run_frame(frame)
    assert steady.save() == changing.save()
    assert steady.ram[0x10] == 59


def test_a_batch_with_an_engine_equals_single_consoles(compiled: tuple[Path, Path]) -> None:
    batch = BatchConsole(compiled[0], 5, num_threads=2, frame_skip=3, allow_unknown_rom=True)
    batch.set_engine(compiled[1])
    singles = [Console(compiled[0], allow_unknown_rom=True) for _ in range(5)]
    rng = np.random.default_rng(1)
    for _ in range(50):
        batch.buttons[:] = rng.integers(0, 256, 5)
        batch.step()
        for index, single in enumerate(singles):
            single.run_frame(int(batch.buttons[index]), num_frames=3)
            assert batch.save(index) == single.save()


# ---- who runs the frames


def test_the_engine_is_compiled_once_and_found_again(rom: Path, cache: CacheDir, compiler: Compiler) -> None:
    compiler(WORKING)
    first = Console(rom, "recompiled", cache=cache, allow_unknown_rom=True)
    assert first.engine == "recompiled"
    compiler("echo must not be called >&2; exit 1")
    assert Console(rom, "recompiled", cache=cache, allow_unknown_rom=True).engine == "recompiled"
    assert BatchConsole(rom, 1, engine="auto", cache=cache, allow_unknown_rom=True).engine == "recompiled"
    assert Console(rom, allow_unknown_rom=True).engine == "interpreter"


def test_an_engine_that_nobody_knows_is_refused(rom: Path) -> None:
    with pytest.raises(ValueError, match="'auto', 'interpreter' or 'recompiled', got 'fast'"):
        Console(rom, "fast", allow_unknown_rom=True)  # type: ignore[arg-type]


def test_another_cartridges_engine_is_refused(compiled: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.nes"
    other.write_bytes(make_program_cartridge(fill=0x40))
    console = Console(other, allow_unknown_rom=True)
    with pytest.raises(EngineError, match="made from another ROM"):
        console.set_engine(compiled[1])
    assert console.engine == "interpreter"
    batch = BatchConsole(other, 1, allow_unknown_rom=True)
    with pytest.raises(EngineError, match="made from another ROM"):
        batch.set_engine(compiled[1])


def test_another_builds_engine_is_refused(compiled: tuple[Path, Path], tmp_path: Path) -> None:
    hash_of_library = load_library().mario_source_hash()
    old = tmp_path / "old.so"
    content = compiled[1].read_bytes()
    assert content.count(hash_of_library) == 1
    old.write_bytes(content.replace(hash_of_library, hash_of_library[::-1]))
    with pytest.raises(EngineError, match="written by another build"):
        Console(compiled[0], allow_unknown_rom=True).set_engine(old)


def test_a_file_that_is_no_engine_is_refused(rom: Path, tmp_path: Path) -> None:
    console = Console(rom, allow_unknown_rom=True)
    (tmp_path / "text.so").write_text("no engine")
    with pytest.raises(EngineError, match="cannot be loaded"):
        console.set_engine(tmp_path / "text.so")
    with pytest.raises(EngineError, match="has no mario_engine"):
        console.set_engine(Path(load_library()._name))


# ---- what can happen to a compiler


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo 'x.cpp:1: fatal error: No space left on device' >&2; exit 1", "No space left on device"),
        ("exit 3", r"failed \(exit 3\): it said nothing"),
        ("exit 0", "reported success and made nothing"),
        ("kill -9 $$", "failed"),
    ],
)
def test_a_failing_compiler_leaves_the_game_to_the_interpreter(
    script: str,
    complaint: str,
    rom: Path,
    cache: CacheDir,
    compiler: Compiler,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    compiler(script)
    with pytest.raises(EngineError, match=complaint):
        Console(rom, "recompiled", cache=cache, allow_unknown_rom=True)
    calls = (tmp_path / "calls").read_text()
    caplog.clear()
    for _ in range(2):
        assert Console(rom, "auto", cache=cache, allow_unknown_rom=True).engine == "interpreter"
    assert (tmp_path / "calls").read_text() == calls  # once is enough to know
    warnings = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "the interpreter runs the game" in warnings[0].getMessage()
    assert list(cache.folder("engines").iterdir()) == []


def test_auto_plays_at_once_and_changes_over_when_the_engine_is_compiled(
    rom: Path, cache: CacheDir, compiler: Compiler, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    compiler(f'[ -z "$out" ] && exit 1; while [ ! -e {go} ]; do sleep 0.02; done; {WORKING}')
    waiting = [BatchConsole(rom, 2, engine="auto", cache=cache, allow_unknown_rom=True) for _ in range(2)]
    steady = BatchConsole(rom, 2, allow_unknown_rom=True)
    for batch in (*waiting, steady):
        for _ in range(3):
            batch.step()
    assert [batch.engine for batch in waiting] == ["interpreter"] * 2
    go.touch()
    assert [batch.wait_for_engine(60) for batch in waiting] == ["recompiled"] * 2
    assert len(list(cache.folder("engines").glob("*.so"))) == 1
    for batch in (*waiting, steady):
        batch.step()
    assert waiting[0].save(1) == waiting[1].save(1) == steady.save(1)


def test_a_compilation_that_fails_in_the_background_leaves_the_interpreter_and_says_so_once(
    rom: Path, cache: CacheDir, compiler: Compiler, caplog: pytest.LogCaptureFixture
) -> None:
    compiler("echo 'x.cpp:1: fatal error: No space left on device' >&2; exit 1")
    consoles = [Console(rom, "auto", cache=cache, allow_unknown_rom=True) for _ in range(2)]
    assert [console.wait_for_engine(60) for console in consoles] == ["interpreter"] * 2
    for console in (*consoles, Console(rom, "auto", cache=cache, allow_unknown_rom=True)):
        console.run_frame()
    warnings = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "the interpreter runs the game" in warnings[0]
    assert "No space left on device" in warnings[0]


def test_without_a_compiler_the_error_says_what_to_install(
    rom: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(cache.root))
    with pytest.raises(EngineError, match=r"looked for c\+\+, g\+\+, clang\+\+.*install"):
        Console(rom, "recompiled", cache=cache, allow_unknown_rom=True)
    monkeypatch.setenv("CXX", "nosuchcompiler -m64")
    with pytest.raises(EngineError, match=r"\$CXX is nosuchcompiler -m64"):
        engine.find_compiler()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_cache_that_cannot_be_written_is_an_engine_error(rom: Path, cache: CacheDir, compiler: Compiler) -> None:
    compiler(WORKING)
    cache.folder("engines").chmod(0o500)
    with pytest.raises(EngineError, match="cannot be written"):
        Console(rom, "recompiled", cache=cache, allow_unknown_rom=True)


def test_a_disk_that_fills_up_is_an_engine_error(
    rom: Path, cache: CacheDir, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    compiler(WORKING)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(EngineError, match="No space left on device; free some space"):
        Console(rom, "recompiled", cache=cache, allow_unknown_rom=True)
    assert list(cache.folder("engines").iterdir()) == []


# ---- what can happen to an entry


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_a_damaged_entry_is_noticed_and_made_again(
    damage: str, rom: Path, cache: CacheDir, compiler: Compiler, caplog: pytest.LogCaptureFixture
) -> None:
    compiler(WORKING)
    path = build_engine(parse_cartridge(rom.read_bytes()), cache)
    whole = path.read_bytes()
    changed = bytes([*whole[:5000], whole[5000] ^ 1, *whole[5001:]])
    path.write_bytes({"cut": whole[: len(whole) // 2], "changed": changed, "emptied": b""}[damage])
    assert Console(rom, "recompiled", cache=cache, allow_unknown_rom=True).engine == "recompiled"
    assert "is damaged" in caplog.text
    assert path.read_bytes() == whole


def test_somebody_elses_file_under_our_name_is_replaced(
    rom: Path, cache: CacheDir, compiler: Compiler, caplog: pytest.LogCaptureFixture
) -> None:
    library = Path(load_library()._name)
    compiler(f'cp {library} "$out"')
    foreign = build_engine(parse_cartridge(rom.read_bytes()), cache)
    compiler(WORKING)
    assert Console(rom, "auto", cache=cache, allow_unknown_rom=True).engine == "recompiled"
    assert "is refused" in caplog.text
    assert not foreign.exists()


def test_an_interrupted_compilation_leaves_nothing_that_is_found(rom: Path, cache: CacheDir) -> None:
    cartridge = parse_cartridge(rom.read_bytes())
    abandoned = cache.folder("engines") / ".build-killed"
    abandoned.mkdir()
    (abandoned / "engine.so").write_bytes(b"half of it")
    assert find_engine(cartridge, cache) is None


def test_what_a_killed_compilation_left_is_removed_after_a_day(rom: Path, cache: CacheDir, compiler: Compiler) -> None:
    compiler(WORKING)
    old, recent = (cache.folder("engines") / name for name in (".build-old", ".build-recent"))
    old.mkdir()
    recent.mkdir()
    os.utime(old, (0, 0))
    build_engine(parse_cartridge(rom.read_bytes()), cache)
    assert not old.exists()
    assert recent.exists()


def test_two_that_compile_at_once_both_end_with_an_engine(rom: Path, cache: CacheDir, compiler: Compiler) -> None:
    # Each waits until both have begun.
    meeting = cache.root / "meeting"
    meeting.mkdir()
    compiler(
        f"touch {meeting}/$$; n=0; while [ $(ls {meeting} | wc -l) -lt 2 ] && [ $n -lt 500 ]; do "
        f"sleep 0.01; n=$((n+1)); done; {WORKING}"
    )
    cartridge = parse_cartridge(rom.read_bytes())
    with ThreadPoolExecutor(2) as executor:
        paths = list(executor.map(lambda _: build_engine(cartridge, cache), range(2)))
    for path in paths:
        Console(rom, allow_unknown_rom=True).set_engine(path)
    assert find_engine(cartridge, cache) in paths
    assert all(each.suffix == ".so" for each in cache.folder("engines").iterdir())


def test_progress_is_told(rom: Path, cache: CacheDir, compiler: Compiler) -> None:
    compiler(WORKING)
    told: list[engine.Progress] = []
    build_engine(parse_cartridge(rom.read_bytes()), cache, told.append)
    assert told[-1].num_done == told[-1].num_parts >= 1
