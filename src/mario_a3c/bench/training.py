"""How fast training is, end to end: consoles, acting, learning and everything between them."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from mario_a3c.bench.machine import machine_name
from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.config.presets import Wanted, preset_config
from mario_a3c.errors import EngineError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.execution import choose_device
from mario_a3c.monitoring.nvml import NvmlError
from mario_a3c.native.cores import num_cores
from mario_a3c.native.engine import obtain_engine
from mario_a3c.native.rom import locate_rom
from mario_a3c.training.build import build_training
from mario_a3c.training.stopping import StopRequest
from mario_a3c.training.telemetry_parts import find_gpu

LOG = logging.getLogger("mario.benchmark")

_GPU_SAMPLE_SECONDS = 1.0

Mode = Literal["sync", "overlap"]


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """One way of training, after its warm-up. Shares are of that time."""

    name: str
    mode: Mode
    backbone: str
    num_envs: int
    rollout_steps: int
    epochs: int
    steps_per_second: float
    updates_per_second: float
    consoles: float
    acting: float
    learning: float
    waiting: float
    replay_fill: float
    gpu_utilization: float | None  # percent, as the driver counts it
    seconds: float


@dataclass(frozen=True, slots=True)
class TrainingBench:
    """What `mario bench train` found out."""

    machine: str
    num_cores: int
    device: str
    torch: str
    speeds: tuple[TrainingSpeed, ...]


def bench_training(
    base: TrainingConfig, cache: CacheDir, *, seconds: float, warmup_share: float = 0.25
) -> TrainingBench:
    """Measures the presets of this device, sync and overlapped; `base` says which game, engine and device."""
    device = choose_device(base.execution.device_to_choose)
    compile_first(base, cache)
    speeds = []
    for name, config in _ways(device.type):
        config = replace(config, execution=base.execution, engine=base.engine, rom=base.rom, cache=base.cache)
        for mode in _modes(device.type):
            LOG.info("%s, %s: %.0f s", name, mode, seconds)
            speeds.append(measure(name, in_mode(config, mode), cache, seconds=seconds, warmup_share=warmup_share))
    found = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return TrainingBench(machine_name(), num_cores(), found, torch.__version__, tuple(speeds))


def compile_first(config: TrainingConfig, cache: CacheDir) -> None:
    """Training begins with the interpreter and changes over; what is measured should not depend on when."""
    if config.engine.engine == "auto":
        try:
            obtain_engine(locate_rom(config.rom, cache).cartridge, cache)
        except EngineError as error:
            LOG.warning("measured with the interpreter: %s", error)


def in_mode(config: TrainingConfig, mode: Mode) -> TrainingConfig:
    return replace(config, collector=replace(config.collector, overlap_collect=mode == "overlap"))


def measure(
    name: str, config: TrainingConfig, cache: CacheDir, *, seconds: float, warmup_share: float
) -> TrainingSpeed:
    """Trains for so long; the first part, in which things are compiled and caches fill, does not count."""
    training = build_training(config, cache, StopRequest())
    trainer, parts = training.trainer, training.trainer.parts
    try:
        _train_until(trainer.make_update, time.perf_counter() + seconds * warmup_share)
        parts.timing.take_shares()
        steps, updates = parts.progress.num_steps, parts.progress.num_updates
        with gpu_utilization(training.execution.device) as utilization:
            _train_until(trainer.make_update, time.perf_counter() + seconds * (1 - warmup_share))
            shares = parts.timing.take_shares()
        fill = 0.0 if parts.replay is None else parts.replay.stats()["replay_fill_rate"]
    finally:
        parts.close()
    return TrainingSpeed(
        name=name,
        mode="overlap" if config.collector.overlap_collect else "sync",
        backbone=training.model_config.backbone,
        num_envs=config.vector_env.num_envs,
        rollout_steps=config.collector.rollout_steps,
        epochs=config.learner.epochs,
        steps_per_second=round((parts.progress.num_steps - steps) / shares.seconds, 1),
        updates_per_second=round((parts.progress.num_updates - updates) / shares.seconds, 3),
        consoles=round(shares.consoles, 3),
        acting=round(shares.acting, 3),
        learning=round(shares.learning, 3),
        waiting=round(shares.waiting, 3),
        replay_fill=round(fill, 4),
        gpu_utilization=round(sum(utilization) / len(utilization), 1) if utilization else None,
        seconds=round(shares.seconds, 2),
    )


@contextlib.contextmanager
def gpu_utilization(device: str) -> Iterator[list[float]]:
    """Samples of the driver, one a second, in a list that grows; empty where there is none."""
    samples: list[float] = []
    gpu = find_gpu(device)
    if gpu is None:
        yield samples
        return
    stop = threading.Event()

    def watch() -> None:
        with contextlib.suppress(NvmlError):  # a GPU that is lost ends the measurement itself
            while not stop.wait(_GPU_SAMPLE_SECONDS):
                samples.append(gpu.sample().util_percent)

    thread = threading.Thread(target=watch, name="mario-gpu", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
        gpu.close()


def _train_until(make_update: Callable[[], None], end: float) -> None:
    """At least one update."""
    make_update()
    while time.perf_counter() < end:
        make_update()


def _ways(device_type: str) -> Sequence[tuple[str, TrainingConfig]]:
    """The preset, and on a GPU one pass over each rollout, as A3C and IMPALA do, with either backbone."""
    if device_type == "cpu":
        return [("preset cpu", preset_config("cpu"))]
    preset = preset_config("gpu")
    one_pass = replace(
        preset,
        learner=LearnerConfig(epochs=1, minibatches=1),
        collector=replace(preset.collector, rollout_steps=32),
    )
    execution = preset_config("gpu", Wanted(backbone="impala")).execution
    impala = replace(one_pass, model=ModelConfig(backbone="impala"), execution=execution)
    return [("preset gpu", preset), ("one pass", one_pass), ("one pass", impala)]


def _modes(device_type: str) -> Sequence[Mode]:
    return ("sync",) if device_type == "cpu" else ("sync", "overlap")
