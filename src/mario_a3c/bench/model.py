"""Decisions and learned steps per second of every network, in every way this machine can run it."""

import gc
import logging
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from mario_a3c import __version__
from mario_a3c.bench.config import BenchConfig
from mario_a3c.bench.machine import machine_name
from mario_a3c.cache_dir import CacheDir
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ExecutionConfig, ModelConfig, RecurrentType
from mario_a3c.models.execution import (
    Compilation,
    CudaGraph,
    Execution,
    Precision,
    allow_cpu_bfloat16,
    choose_device,
    decide_execution,
)
from mario_a3c.models.measured_modes import MeasuredMode, remember_modes
from mario_a3c.models.memories import unroll_by_steps
from mario_a3c.models.size import ModelSize, measure_size
from mario_a3c.native.cores import num_cores

LOG = logging.getLogger("mario.benchmark")

Work = Literal["act", "train"]
MAX_AUTOTUNE: Compilation = "max-autotune-no-cudagraphs"
BackboneName = Literal["nature", "impala", "ram"]

_NUM_ACTIONS = 7
_START_PROBABILITY = 0.01  # episodes of a hundred steps: one rollout of 512 environments holds many starts
_BACKBONES: tuple[BackboneName, ...] = ("nature", "impala", "ram")
_MEMORIES: tuple[RecurrentType, ...] = ("none", "gru", "lstm", "transformer", "gtrxl")


@dataclass(frozen=True, slots=True)
class Load:
    """How much is done at once: what a rollout of a real run has on such a device."""

    num_acting: int
    rollout: tuple[int, int]  # T, N of one learning step
    seconds: float  # for one measurement


_LOADS = {
    ("cuda", "nature"): Load(256, (32, 512), 1.0),
    ("cuda", "impala"): Load(256, (16, 512), 1.0),
    ("cuda", "ram"): Load(512, (64, 512), 1.0),
    ("cpu", "nature"): Load(16, (16, 16), 0.5),
    ("cpu", "impala"): Load(16, (4, 16), 0.5),
    ("cpu", "ram"): Load(64, (64, 16), 0.5),
}


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """One row of the result."""

    backbone: str
    memory: str
    work: Work
    batch: str
    precision: Precision
    compilation: Compilation
    has_graph: bool
    variant: str
    steps_per_second: float


@dataclass(frozen=True, slots=True)
class ModelBench:
    """The whole result, with what it was measured on."""

    version: str
    torch: str
    machine: str
    num_cores: int
    num_threads: int
    python: str
    device: str
    chosen: dict[str, Execution]  # by backbone: what runs by default after this measurement
    sizes: dict[str, ModelSize]
    speeds: list[ModelSpeed]
    memory_costs: dict[str, float]  # time of a network with that memory over the one without, measured in turns


@dataclass(frozen=True, slots=True)
class _Subject:
    backbone: BackboneName
    memory: RecurrentType
    work: Work
    execution: Execution
    has_graph: bool = False
    variant: str = ""

    @property
    def load(self) -> Load:
        return _LOADS[torch.device(self.execution.device).type, self.backbone]

    @property
    def num_steps(self) -> int:
        return self.load.num_acting if self.work == "act" else self.load.rollout[0] * self.load.rollout[1]

    def speed(self, steps_per_second: float) -> ModelSpeed:
        T, N = self.load.rollout  # noqa: N806 -- axes are capitals
        return ModelSpeed(
            backbone=self.backbone,
            memory=self.memory,
            work=self.work,
            batch=str(self.load.num_acting) if self.work == "act" else f"{T}x{N}",
            precision=self.execution.precision,
            compilation=self.execution.compilation,
            has_graph=self.has_graph,
            variant=self.variant,
            steps_per_second=round(steps_per_second),
        )


def bench_model(config: BenchConfig, execution: ExecutionConfig, cache: CacheDir) -> ModelBench:
    device = choose_device(execution.device_to_choose)
    ways = list(
        _ways_on_cpu(execution, cache)
        if device.type == "cpu"
        else _ways_on_gpu(str(device), execution, config.autotune)
    )
    speeds: list[ModelSpeed] = []
    for backbone in _BACKBONES:
        for group in (_acting(backbone, ways), _training(backbone, ways)):
            speeds += _measure_in_turns(list(group), config.rounds)
        if device.type == "cpu":
            remember_modes(cache, backbone, _compare([each for each in speeds if each.backbone == backbone]))
    chosen = {backbone: decide_execution(execution, backbone, cache) for backbone in _BACKBONES}
    memory_costs: dict[str, float] = {}
    for group in (_memories_acting(chosen["nature"]), _memories_training(chosen["nature"])):
        rows = _measure_in_turns(list(group), config.rounds)
        memory_costs.update(_costs(rows))
        speeds += rows[1:]
    return ModelBench(
        version=__version__,
        torch=torch.__version__,
        machine=machine_name(),
        num_cores=num_cores(),
        num_threads=torch.get_num_threads(),
        python=platform.python_version(),
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        chosen={str(backbone): execution for backbone, execution in chosen.items()},
        sizes={f"{b} {m}": measure_size(_model(b, m)) for b in _BACKBONES for m in _MEMORIES},
        speeds=speeds,
        memory_costs=memory_costs,
    )


def _ways_on_cpu(allowed: ExecutionConfig, cache: CacheDir) -> Iterable[Execution]:
    """Everything that could be the fastest here, eager float32 first."""
    precisions: list[Precision] = ["float32"]
    if allowed.amp and allow_cpu_bfloat16(cache):
        precisions.append("bfloat16")
    compilations: list[Compilation] = ["none", "default"] if allowed.compile else ["none"]
    for precision in precisions:
        for compilation in compilations:
            yield Execution("cpu", precision, compilation, "measured")


def _ways_on_gpu(device: str, allowed: ExecutionConfig, autotune: bool) -> Iterable[Execution]:
    """The same, less the many minutes that trying every compilation of every precision would take."""
    ways: list[tuple[Precision, Compilation]] = [("float32", "none")]
    if allowed.amp:
        ways += [("bfloat16", "none"), ("float16", "none")]
    if allowed.compile:
        precision: Precision = "bfloat16" if allowed.amp else "float32"
        ways += [(precision, "default"), *([(precision, MAX_AUTOTUNE)] if autotune else [])]
    yield from (Execution(device, precision, compilation, "measured") for precision, compilation in ways)


def _acting(backbone: BackboneName, ways: list[Execution]) -> Iterable[_Subject]:
    for way in ways:
        yield _Subject(backbone, "none", "act", way)
        if way.device != "cpu":
            yield _Subject(backbone, "none", "act", way, has_graph=True)


def _training(backbone: BackboneName, ways: list[Execution]) -> Iterable[_Subject]:
    for way in ways:
        yield _Subject(backbone, "none", "train", way)
        if _learns_by_graph(way):
            yield _Subject(backbone, "none", "train", way, has_graph=True)


def _memories_acting(way: Execution) -> Iterable[_Subject]:
    yield from (_Subject("nature", memory, "act", way, has_graph=way.device != "cpu") for memory in _MEMORIES)


def _memories_training(way: Execution) -> Iterable[_Subject]:
    for memory in _MEMORIES:
        yield _Subject("nature", memory, "train", way, has_graph=_learns_by_graph(way))
        if memory in ("gru", "lstm") and way.device == "cpu":
            yield _Subject("nature", memory, "train", way, variant="one step after the other")


def _learns_by_graph(way: Execution) -> bool:
    """As the learner does; here only where no scale of the loss has to be found."""
    return way.device != "cpu" and way.precision != "float16"


def _costs(rows: list[ModelSpeed]) -> dict[str, float]:
    """The first row is the network without a memory."""
    names = (" ".join(filter(None, [row.work, row.memory, row.variant])) for row in rows)
    return {
        name: round(rows[0].steps_per_second / row.steps_per_second, 2) for name, row in zip(names, rows, strict=True)
    }


def _compare(speeds: list[ModelSpeed]) -> list[MeasuredMode]:
    """Every way beside eager float32, by the work where it gains least: what is faster must be faster in both."""
    plain = {
        row.work: row.steps_per_second for row in speeds if (row.precision, row.compilation) == ("float32", "none")
    }
    speedups: dict[tuple[Precision, Compilation], float] = {}
    for row in speeds:
        way = row.precision, row.compilation
        speedups[way] = min(speedups.get(way, float("inf")), row.steps_per_second / plain[row.work])
    return [
        MeasuredMode(precision, compilation != "none", round(speedup, 3))
        for (precision, compilation), speedup in speedups.items()
        if precision != "float16"
    ]


def _measure_in_turns(subjects: list[_Subject], rounds: int) -> list[ModelSpeed]:
    """The best of several rounds; a round goes through all subjects, so that a slow minute hits all of them."""
    works = []
    for number, subject in enumerate(subjects, 1):
        LOG.info("%s: preparing %d of %d", _title(subject), number, len(subjects))
        works.append(_prepare(subject))
    best = [0.0] * len(subjects)
    for _ in range(rounds):
        for i, (subject, work) in enumerate(zip(subjects, works, strict=True)):
            best[i] = max(best[i], _measure(subject, work))
    for subject, steps_per_second in zip(subjects, best, strict=True):
        LOG.info("%s: %s steps/s", _title(subject), f"{steps_per_second:,.0f}")
    works.clear()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return [subject.speed(speed) for subject, speed in zip(subjects, best, strict=True)]


def _title(subject: _Subject) -> str:
    way = subject.execution
    words = (subject.work, subject.backbone, subject.memory, way.precision, f"compilation {way.compilation}")
    return ", ".join([*words, *(["graph"] if subject.has_graph else []), *filter(None, [subject.variant])])


def _measure(subject: _Subject, work: Callable[[], None]) -> float:
    """Steps per second, once."""
    _wait()
    num_calls, started = 0, time.perf_counter()
    while True:
        work()
        num_calls += 1
        if num_calls % 4 == 0 or subject.execution.device == "cpu":
            _wait()
            elapsed = time.perf_counter() - started
            if elapsed >= subject.load.seconds:
                return num_calls * subject.num_steps / elapsed


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _model(backbone: BackboneName, memory: RecurrentType) -> MarioActorCritic:
    torch.manual_seed(0)
    return MarioActorCritic(ModelConfig(backbone=backbone, recurrent_type=memory), _NUM_ACTIONS)


def _prepare(subject: _Subject) -> Callable[[], None]:
    """The work, called once or more already: compiled, recorded, warm."""
    model = _model(subject.backbone, subject.memory)
    work = _prepare_acting(subject, model) if subject.work == "act" else _prepare_training(subject, model)
    for _ in range(3):
        work()
    _wait()
    return work


def _prepare_acting(subject: _Subject, model: MarioActorCritic) -> Callable[[], None]:
    execution, N = subject.execution, subject.load.num_acting  # noqa: N806 -- axes are capitals
    acting = execution.acting_copy(model)
    observations = torch.randint(0, 256, (N, *model.observation_shape), dtype=torch.uint8, device=execution.device)
    starts = torch.rand(N, device=execution.device) < _START_PROBABILITY
    state = acting.initial_state(N)
    step = execution.graph(acting.step, observations, starts, state) if subject.has_graph else acting.step

    def work() -> None:
        nonlocal state
        with torch.no_grad():
            state = step(observations, starts, state).state

    return work


def _prepare_training(subject: _Subject, model: MarioActorCritic) -> Callable[[], None]:
    execution, device = subject.execution, subject.execution.device
    execution.prepare(model)
    if subject.variant:
        model.memory.unroll = partial(unroll_by_steps, model.memory)  # type: ignore[method-assign]
    shape = subject.load.rollout
    observations = torch.randint(0, 256, (*shape, *model.observation_shape), dtype=torch.uint8, device=device)
    starts = (torch.rand(shape) < _START_PROBABILITY).to(device)
    state = model.initial_state(shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True, capturable=device != "cpu")
    scaler = execution.grad_scaler()

    def work() -> None:
        output = model.unroll(observations, starts, state)
        loss = output.logits.square().mean() + output.value.square().mean()
        optimizer.zero_grad()
        torch.autograd.backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()

    return CudaGraph(work, ()) if subject.has_graph else work
