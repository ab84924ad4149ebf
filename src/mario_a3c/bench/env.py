"""Steps per second of the vector environment, beside how others play the game, all in one run.

A step is an action held for four frames, and an observation of four stacked 84 x 84 pictures, with reward and ends.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mario_a3c.bench.config import BenchConfig
from mario_a3c.bench.console import engines_to_measure
from mario_a3c.bench.machine import measured_with, thread_counts
from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import Rom

LOG = logging.getLogger("mario.benchmark")

_NUM_ENVS = 256
_OWN_STEPS = 100
_REFERENCE_STEPS = 200
_NUM_ASYNC, _ASYNC_STEPS = 8, 40
# Mostly to the right, as an agent that has begun to learn plays.
_ACTIONS = (1, 2, 3, 4, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class EnvSpeed:
    """One row of the result."""

    subject: str
    num_envs: int
    num_threads: int
    steps_per_second: float
    steps_per_cpu_second: float | None  # where one thread does all: what a busy machine leaves as it is


@dataclass(frozen=True, slots=True)
class EnvBench:
    """The whole result, with what it was measured on."""

    version: str
    native_source_hash: str
    rom: str
    machine: str
    num_cores: int
    python: str
    speeds: list[EnvSpeed]
    python_share: float  # of a step of 256 environments on one thread, all that is not the native call


@dataclass(frozen=True, slots=True)
class _Subject:
    """`prepare` returns the work, which makes `num_steps` steps of each environment, and what ends it."""

    name: str
    num_envs: int
    num_threads: int
    num_steps: int
    prepare: Callable[[], tuple[Callable[[], None], Callable[[], None]]]


def bench_env(config: BenchConfig, engine: EngineConfig, rom: Rom, cache: CacheDir) -> EnvBench:
    # Compiled before anything is measured: an environment would begin on the interpreter and change over meanwhile.
    engines_to_measure(engine.engine, rom, cache)
    given = {"rom": RomConfig(rom=rom.path, allow_unknown_rom=True), "engine": engine, "cache": cache}
    subjects = [*_own_subjects(given), _in_python(rom, engine, cache), *_reference_subjects(rom)]
    best: dict[_Subject, tuple[float, float]] = dict.fromkeys(subjects, (0.0, 0.0))
    for round_number in range(1, config.rounds + 1):
        for subject in subjects:
            LOG.info("round %d of %d: %s, %d environments", round_number, config.rounds, subject.name, subject.num_envs)
            measured = _measure(subject)
            best[subject] = (max(best[subject][0], measured[0]), max(best[subject][1], measured[1]))
    return EnvBench(
        **measured_with(rom),
        speeds=[_speed(subject, *rates) for subject, rates in best.items()],
        python_share=round(_python_share(given, config.rounds), 4),
    )


def _measure(subject: _Subject) -> tuple[float, float]:
    """Steps per second of the clock, and of the processor, once."""
    work, end = subject.prepare()
    try:
        started, cpu_started = time.perf_counter(), time.process_time()
        work()
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    finally:
        end()
    num_steps = subject.num_envs * subject.num_steps
    return num_steps / seconds, num_steps / max(cpu_seconds, 1e-9)


def _speed(subject: _Subject, per_second: float, per_cpu_second: float) -> EnvSpeed:
    is_alone = subject.num_threads == 1
    per_cpu = round(per_cpu_second) if is_alone else None
    return EnvSpeed(subject.name, subject.num_envs, subject.num_threads, round(per_second), per_cpu)


def _config(num_threads: int, frame_stack: int = 4) -> MarioVectorEnvConfig:
    return MarioVectorEnvConfig(
        num_envs=_NUM_ENVS, num_threads=num_threads, env=MarioEnvConfig(frame_stack=frame_stack)
    )


def _own_subjects(given: dict[str, Any]) -> Iterable[_Subject]:
    for num_threads in thread_counts():

        def prepare_gym(num_threads: int = num_threads) -> tuple[Callable[[], None], Callable[[], None]]:
            from mario_a3c.envs.gym_vector_env import MarioVectorEnv

            env = MarioVectorEnv(_config(num_threads), **given)
            env.reset(seed=0)
            return (lambda: _play(env.step, _NUM_ENVS, _OWN_STEPS)), env.close

        def prepare_frames(num_threads: int = num_threads) -> tuple[Callable[[], None], Callable[[], None]]:
            batch = MarioBatch(_config(num_threads, frame_stack=1), **given)
            return (lambda: _play(batch.step, _NUM_ENVS, _OWN_STEPS)), batch.close

        yield _Subject("mario-a3c MarioVectorEnv", _NUM_ENVS, num_threads, _OWN_STEPS, prepare_gym)
        yield _Subject("mario-a3c MarioBatch, single frames", _NUM_ENVS, num_threads, _OWN_STEPS, prepare_frames)


def _in_python(rom: Rom, engine: EngineConfig, cache: CacheDir) -> _Subject:
    """Skip, grey, shrink, stack and rewards as a chain in Python, on the same console: what the native step saves."""

    def make() -> Any:
        from mario_a3c.envs.backends import BackendEnv, OwnConsole

        return BackendEnv(OwnConsole(rom, cache, engine.engine), rom, MarioEnvConfig())

    return _single("mario-a3c, the same in Python", make)


def _reference_subjects(rom: Rom) -> Iterable[_Subject]:
    from mario_a3c.envs import reference_envs as references

    installed = references.installed_reference_envs()
    if "stable-retro" in installed:
        yield _single("stable-retro with wrappers", lambda: references.make_stable_retro(rom.path))
    if "gym-super-mario-bros" in installed:
        yield _single("gym-super-mario-bros with wrappers", references.make_gym_super_mario_bros)

        def prepare() -> tuple[Callable[[], None], Callable[[], None]]:
            env = references.make_async(references.make_gym_super_mario_bros, _NUM_ASYNC)
            env.reset(seed=0)
            return (lambda: _play(env.step, _NUM_ASYNC, _ASYNC_STEPS)), env.close

        yield _Subject("gym-super-mario-bros, AsyncVectorEnv", _NUM_ASYNC, _NUM_ASYNC, _ASYNC_STEPS, prepare)


def _single(name: str, make: Callable[[], Any]) -> _Subject:
    def prepare() -> tuple[Callable[[], None], Callable[[], None]]:
        env = make()
        env.reset(seed=0)

        def step(actions: Any) -> None:
            _, _, terminated, truncated, _ = env.step(int(actions[0]))
            if terminated or truncated:
                env.reset()

        return (lambda: _play(step, 1, _REFERENCE_STEPS)), env.close

    return _Subject(name, 1, 1, _REFERENCE_STEPS, prepare)


def _play(step: Callable[[Any], Any], num_envs: int, num_steps: int) -> None:
    for actions in np.random.default_rng(0).choice(_ACTIONS, (num_steps, num_envs)):
        step(actions)


def _python_share(given: dict[str, Any], rounds: int) -> float:
    """The part of a step of the vector environment that is spent outside the native call; the least of some rounds."""
    from mario_a3c.envs.gym_vector_env import MarioVectorEnv

    env = MarioVectorEnv(_config(num_threads=1), copy=False, **given)
    env.reset(seed=0)
    native_seconds = 0.0
    native_step = env.batch.native_step

    def timed(target: int | None = None) -> None:
        nonlocal native_seconds
        started = time.perf_counter()
        native_step(target)
        native_seconds += time.perf_counter() - started

    env.batch.native_step = timed
    shares = []
    for _ in range(rounds):
        native_seconds = 0.0
        started = time.perf_counter()
        _play(env.step, _NUM_ENVS, _OWN_STEPS)
        shares.append(1.0 - native_seconds / (time.perf_counter() - started))
    env.close()
    return min(shares)
