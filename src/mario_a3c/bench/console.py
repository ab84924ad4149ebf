"""Frames per second of the console, beside other emulators where they are installed, all in one run."""

import logging
import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.bench.config import BenchConfig
from mario_a3c.bench.machine import measured_with, thread_counts
from mario_a3c.bench.run_through import NUM_FRAMES, STEP_FRAMES, frames_to_control, run_through, start_game
from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import EngineError
from mario_a3c.native.batch import BatchConsole
from mario_a3c.native.config import Engine, EngineConfig
from mario_a3c.native.console import Console
from mario_a3c.native.engine import obtain_engine
from mario_a3c.native.reference_emulators import ReferenceEmulator, StableRetro, installed_references
from mario_a3c.native.rom import Rom
from mario_a3c.native.view import SCREEN_RGB, View

LOG = logging.getLogger("mario.benchmark")

_CONSOLES_PER_THREAD = 16
_STATE_CALLS, _STATE_ROUNDS = 2000, 5


@dataclass(frozen=True, slots=True)
class Speed:
    """One row of the result."""

    subject: str
    picture: str
    num_threads: int
    frames_per_second: float


@dataclass(frozen=True, slots=True)
class StateTimes:
    """What it costs to handle the state of one console."""

    copy_microseconds: float
    save_microseconds: float
    load_microseconds: float


@dataclass(frozen=True, slots=True)
class ConsoleBench:
    """The whole result, with what it was measured on."""

    version: str
    native_source_hash: str
    rom: str
    machine: str
    num_cores: int
    python: str
    speeds: list[Speed]
    state_times: StateTimes


@dataclass(frozen=True, slots=True)
class _Subject:
    """Something whose speed is measured: `prepare` returns the work, which plays `num_frames` frames."""

    name: str
    picture: str
    num_threads: int
    num_frames: int
    prepare: Callable[[], Callable[[], None]]


def bench_console(config: BenchConfig, engine: EngineConfig, rom: Rom, cache: CacheDir) -> ConsoleBench:
    console = Console(rom.path, allow_unknown_rom=True)
    num_boot_frames = start_game(console)
    own = [
        subject
        for engine_name, path in engines_to_measure(engine.engine, rom, cache).items()
        for subject in _own_subjects(rom.path, console.save(), engine_name, path)
    ]
    subjects = [*own, *_references(rom.path, num_boot_frames)]
    return ConsoleBench(
        **measured_with(rom),
        speeds=_measure_in_turns(subjects, config.rounds),
        state_times=_time_states(rom.path),
    )


def _measure_in_turns(subjects: list[_Subject], rounds: int) -> list[Speed]:
    """The best of several rounds; a round goes through all subjects, so that a slow minute hits all of them."""
    best: dict[_Subject, float] = dict.fromkeys(subjects, 0.0)
    for round_number in range(1, rounds + 1):
        for subject in subjects:
            LOG.info("round %d of %d: %s, %s", round_number, rounds, subject.name, subject.picture)
            best[subject] = max(best[subject], _measure(subject))
    return [Speed(each.name, each.picture, each.num_threads, round(speed)) for each, speed in best.items()]


def _measure(subject: _Subject) -> float:
    """Frames per second, once. Nothing of the subject is left afterwards: of some only one may exist at a time."""
    work = subject.prepare()
    started = time.perf_counter()
    work()
    return subject.num_frames / (time.perf_counter() - started)


def engines_to_measure(wanted: Engine, rom: Rom, cache: CacheDir) -> dict[Engine, Path | None]:
    """What is measured, with the file of the compiled engine; by default both, if the compiled one can be had."""
    engines: dict[Engine, Path | None] = {} if wanted == "recompiled" else {"interpreter": None}
    if wanted != "interpreter":
        try:
            engines["recompiled"] = obtain_engine(rom.cartridge, cache)
        except EngineError as error:
            if wanted == "recompiled":
                raise
            LOG.warning("the recompiled engine is left out: %s", error)
    return engines


def _own_subjects(rom_path: Path, start: bytes, engine: Engine, engine_path: Path | None) -> Iterable[_Subject]:
    views = (("none", View(), STEP_FRAMES, False), ("84x84 grey, every 4th frame", View(), STEP_FRAMES, True))
    every_frame = ("256x240 RGB, every frame", SCREEN_RGB, 1, True)
    for num_threads in thread_counts():
        for picture, view, frame_skip, draws in (*views, every_frame) if num_threads == 1 else views:

            def prepare(
                view: View = view, frame_skip: int = frame_skip, draws: bool = draws, num_threads: int = num_threads
            ) -> Callable[[], None]:
                batch = _batch_at_start(rom_path, start, view, frame_skip, num_threads)
                batch.set_engine(engine_path)
                return lambda: _play(batch, STEP_FRAMES // frame_skip, draws)

            num_frames = NUM_FRAMES * _CONSOLES_PER_THREAD * num_threads
            yield _Subject(f"mario-a3c {engine}", picture, num_threads, num_frames, prepare)


def _batch_at_start(rom_path: Path, start: bytes, view: View, frame_skip: int, num_threads: int) -> BatchConsole:
    batch = BatchConsole(
        rom_path,
        _CONSOLES_PER_THREAD * num_threads,
        frame_skip=frame_skip,
        num_threads=num_threads,
        view=view,
        allow_unknown_rom=True,
    )
    batch.set_snapshot(0, start)
    batch.snapshots[:] = 0
    batch.step()
    return batch


def _play(batch: BatchConsole, calls_per_step: int, draws: bool) -> None:
    for buttons in run_through():
        batch.buttons.fill(buttons)
        for _ in range(calls_per_step):
            batch.step(draws=draws)


def _references(rom_path: Path, num_boot_frames: int) -> Iterable[_Subject]:
    for name, emulator in installed_references().items():
        # Only this one can leave its picture where it is.
        pictures = ("none", "every frame") if emulator is StableRetro else ("every frame",)
        for picture in pictures:

            def prepare(
                emulator: type[ReferenceEmulator] = emulator, fetches: bool = picture != "none"
            ) -> Callable[[], None]:
                made = emulator(rom_path)
                for buttons in frames_to_control(num_boot_frames):
                    made.run_frame(buttons)
                return lambda: _play_reference(made, fetches)

            yield _Subject(name, picture, 1, NUM_FRAMES, prepare)


def _play_reference(emulator: ReferenceEmulator, fetches: bool) -> None:
    for buttons in run_through():
        for _ in range(STEP_FRAMES):
            emulator.run_frame(buttons)
            if fetches:
                emulator.screen()


def _time_states(rom_path: Path) -> StateTimes:
    batch = BatchConsole(rom_path, 2, num_threads=1, allow_unknown_rom=True)
    state = batch.save(0)
    return StateTimes(
        copy_microseconds=_microseconds(lambda: batch.copy(to=1, source=0)),
        save_microseconds=_microseconds(lambda: batch.save(0)),
        load_microseconds=_microseconds(lambda: batch.load(0, state)),
    )


def _microseconds(call: Callable[[], object]) -> float:
    """One call, with what Python adds: the best of several rounds of many calls."""
    seconds = min(timeit.repeat(call, number=_STATE_CALLS, repeat=_STATE_ROUNDS))
    return round(seconds / _STATE_CALLS * 1e6, 2)
