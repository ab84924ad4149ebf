"""`mario bench console|env|model|train`: how fast the parts are on this machine."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mario_a3c.bench.config import BenchConfig
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.config.command_line import parse_command
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ExitCode
from mario_a3c.models.config import ExecutionConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import locate_rom
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.bench.console import ConsoleBench
    from mario_a3c.bench.env import EnvBench, EnvSpeed
    from mario_a3c.bench.model import ModelBench
    from mario_a3c.bench.training import TrainingBench

Subject = Literal["console", "env", "model", "train"]

_NUM_REFERENCES = 2
# What ratios are taken of: the emulator that people have used for this game.
_YARDSTICK = "nes-py"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Measure the console or the environments, beside those of others that are installed, the networks, or training."""

    subject: Subject = option("console", "what to measure", positional=True)
    bench: BenchConfig = section(BenchConfig)
    engine: EngineConfig = section(EngineConfig)
    execution: ExecutionConfig = section(ExecutionConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario bench")
    result = _MEASURE[arguments.subject](arguments, CacheDir.open(arguments.cache))
    if arguments.bench.json is not None:
        write_durably(arguments.bench.json, (json.dumps(dataclasses.asdict(result), indent=2) + "\n").encode())
    return ExitCode.DONE


def measure_console(arguments: Arguments, cache: CacheDir) -> "ConsoleBench":
    from mario_a3c.bench.console import bench_console

    result = bench_console(arguments.bench, arguments.engine, locate_rom(arguments.rom, cache), cache)
    _print_machine(result)
    yardstick = next((speed.frames_per_second for speed in result.speeds if speed.subject == _YARDSTICK), None)
    print(f"| emulator | picture | threads | frames/s | over {_YARDSTICK} |\n| --- | --- | --- | --- | --- |")
    for speed in result.speeds:
        ratio = f"{speed.frames_per_second / yardstick:.1f}x" if yardstick else "not installed"
        print(f"| {speed.subject} | {speed.picture} | {speed.num_threads} | {speed.frames_per_second:,.0f} | {ratio} |")
    times = result.state_times
    print(
        f"\nstate of one console: copy {times.copy_microseconds} us, save {times.save_microseconds} us, "
        f"load {times.load_microseconds} us (called from Python)"
    )
    return result


def measure_envs(arguments: Arguments, cache: CacheDir) -> "EnvBench":
    """Ratios are those of one environment of others, with wrappers, in one process; by CPU time, which is not the
    machine's mood, where one thread does all."""
    from mario_a3c.bench.env import bench_env

    result = bench_env(arguments.bench, arguments.engine, locate_rom(arguments.rom, cache), cache)
    _print_machine(result)
    singles = {
        speed.subject.removesuffix(" with wrappers"): speed
        for speed in result.speeds
        if speed.subject.endswith(" with wrappers")
    }
    head = "".join(f" over {name} |" for name in singles)
    print("| environment | number | threads | steps/s | steps/CPU second |" + head)
    print("| --- " * (5 + len(singles)) + "|")
    for speed in result.speeds:
        per_cpu = f"{speed.steps_per_cpu_second:,.0f}" if speed.steps_per_cpu_second else ""
        row = (
            f"| {speed.subject} | {speed.num_envs} | {speed.num_threads} | {speed.steps_per_second:,.0f} | {per_cpu} |"
        )
        print(row + "".join(f" {_ratio(speed, single):.1f}x |" for single in singles.values()))
    print(f"\nPython's share of a step of 256 environments on one thread: {result.python_share:.1%}")
    if len(singles) < _NUM_REFERENCES:
        print("(others are measured where their packages and opencv-python-headless are installed)")
    return result


def _ratio(speed: "EnvSpeed", single: "EnvSpeed") -> float:
    if speed.steps_per_cpu_second and single.steps_per_cpu_second:
        return speed.steps_per_cpu_second / single.steps_per_cpu_second
    return speed.steps_per_second / single.steps_per_second


def measure_model(arguments: Arguments, cache: CacheDir) -> "ModelBench":
    from mario_a3c.bench.model import bench_model

    result = bench_model(arguments.bench, arguments.execution, cache)
    print(f"{result.device}; {result.machine}, {result.num_cores} cores; torch {result.torch}\n")
    print("| network | memory | work | batch | precision | compiled | steps/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for speed in result.speeds:
        compiled = speed.compilation + (", graph" if speed.has_graph else "")
        memory = f"{speed.memory} ({speed.variant})" if speed.variant else speed.memory
        print(
            f"| {speed.backbone} | {memory} | {speed.work} | {speed.batch} | {speed.precision} | {compiled} "
            f"| {speed.steps_per_second:,.0f} |"
        )
    print("\ntime with a memory over the time without, nature backbone:")
    for name, cost in result.memory_costs.items():
        print(f"  {name}: {cost}x")
    for backbone, way in result.chosen.items():
        print(f"\n{backbone} runs here by default in {way.precision}, compilation {way.compilation} ({way.reason})")
    return result


def measure_training(arguments: Arguments, cache: CacheDir) -> "TrainingBench":
    from mario_a3c.bench.training import bench_training

    base = TrainingConfig(
        execution=arguments.execution, engine=arguments.engine, rom=arguments.rom, cache=arguments.cache
    )
    result = bench_training(base, cache, seconds=arguments.bench.seconds)
    print(f"{result.device}; {result.machine}, {result.num_cores} cores; torch {result.torch}\n")
    print(
        "| training | mode | network | environments x steps | passes | steps/s | consoles, acting, learning, waiting |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for speed in result.speeds:
        shares = ", ".join(f"{each:.0%}" for each in (speed.consoles, speed.acting, speed.learning, speed.waiting))
        print(
            f"| {speed.name} | {speed.mode} | {speed.backbone} | {speed.num_envs} x {speed.rollout_steps} "
            f"| {speed.epochs} | {speed.steps_per_second:,.0f} | {shares} |"
        )
    return result


def _print_machine(result: "ConsoleBench | EnvBench") -> None:
    print(f"{result.machine}, {result.num_cores} cores, Python {result.python}\n{result.rom}\n")


_MEASURE: dict[Subject, Callable[[Arguments, CacheDir], "ConsoleBench | EnvBench | ModelBench | TrainingBench"]] = {
    "console": measure_console,
    "env": measure_envs,
    "model": measure_model,
    "train": measure_training,
}
