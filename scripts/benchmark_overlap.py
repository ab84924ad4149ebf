"""Measures training with and without overlapped collection over a grid of environments and rollout lengths.

Writes `bench_overlap_<timestamp>.csv`, one line for each case. Lists are given as `64 128` or `64,128`.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mario_a3c.cli.scripts import run_script

if TYPE_CHECKING:
    from mario_a3c.bench.training import TrainingSpeed

# The names of both documents; where they say the same thing in two ways, both columns have it.
COLUMNS = (
    "mode", "num_envs", "rollout", "steps_per_sec", "steps_per_sec_mean", "updates_per_sec_mean", "replay_fill_final",
    "gpu_util_mean", "gpu_util_mean_window", "duration_sec",
)  # fmt: skip


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs-list", "--num_envs_list", nargs="+", default=["64,256,512"])
    parser.add_argument("--rollout-list", "--rollout_list", nargs="+", default=["16,32,64"])
    parser.add_argument("--modes", nargs="+", choices=["sync", "overlap"], default=["sync", "overlap"])
    parser.add_argument("--warmup-frac", "--warmup_frac", type=float, default=0.3, help="share that does not count")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each case, with its warm-up")
    parser.add_argument("--device", default="best", help="best, auto, cpu, cuda or cuda:N")
    parser.add_argument("--backbone", choices=["nature", "impala"], default="nature")
    parser.add_argument("--epochs", type=int, default=1, help="passes over each rollout")
    parser.add_argument("--minibatches", type=int, default=1, help="optimizer steps in a pass")
    parser.add_argument("--rom", type=Path, help="play this .nes file instead of looking for one")
    parser.add_argument("--cache-dir", "--cache_dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the CSV file")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    arguments = parser.parse_args(argv)
    for name in ("num_envs_list", "rollout_list"):
        try:
            numbers = [int(number) for word in getattr(arguments, name) for number in word.split(",") if number]
        except ValueError:
            parser.error(f"--{name.replace('_', '-')} takes whole numbers, got {getattr(arguments, name)}")
        setattr(arguments, name, numbers)
    if not 0 <= arguments.warmup_frac < 1:
        parser.error(f"--warmup-frac must be in [0, 1), got {arguments.warmup_frac}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    cases = [
        (mode, num_envs, rollout)
        for num_envs in arguments.num_envs_list
        for rollout in arguments.rollout_list
        for mode in arguments.modes
    ]
    print(f"[benchmark] {len(cases)} cases, {arguments.seconds:g} s each")
    if arguments.dry_run:
        for mode, num_envs, rollout in cases:
            print(f"[benchmark] would measure {mode}, {num_envs} environments x {rollout} steps")
        return 0
    path = arguments.out / f"bench_overlap_{datetime.now():%Y%m%d-%H%M%S}.csv"  # noqa: DTZ005 -- of the user's wall
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for number, (mode, num_envs, rollout) in enumerate(cases, 1):
            row = row_of(measure_case(arguments, mode, num_envs, rollout))
            writer.writerow(row)
            file.flush()  # what is measured stays, whatever comes
            speed = f"{row['steps_per_sec']:,.0f} steps/s"
            print(f"[benchmark] {mode}, {num_envs} x {rollout}: {speed} ({number} of {len(cases)})", flush=True)
    print(f"[benchmark] wrote {path}")
    return 0


def measure_case(arguments: argparse.Namespace, mode: Any, num_envs: int, rollout: int) -> "TrainingSpeed":
    from mario_a3c.bench.training import compile_first, in_mode, measure
    from mario_a3c.cache_dir import CacheConfig, CacheDir
    from mario_a3c.config.presets import Wanted, preset_config
    from mario_a3c.models.config import ExecutionConfig, ModelConfig
    from mario_a3c.native.config import RomConfig

    preset = preset_config("gpu", Wanted(backbone=arguments.backbone))
    config = replace(
        preset,
        vector_env=replace(preset.vector_env, num_envs=num_envs),
        collector=replace(preset.collector, rollout_steps=rollout),
        learner=replace(preset.learner, epochs=arguments.epochs, minibatches=arguments.minibatches),
        model=ModelConfig(backbone=arguments.backbone),
        execution=ExecutionConfig(device=arguments.device),
        rom=RomConfig(rom=arguments.rom),
        cache=CacheConfig(cache_dir=arguments.cache_dir),
    )
    cache = CacheDir.open(config.cache)
    compile_first(config, cache)
    return measure("grid", in_mode(config, mode), cache, seconds=arguments.seconds, warmup_share=arguments.warmup_frac)


def row_of(speed: "TrainingSpeed") -> dict[str, Any]:
    utilization = "" if speed.gpu_utilization is None else speed.gpu_utilization
    return {
        "mode": speed.mode,
        "num_envs": speed.num_envs,
        "rollout": speed.rollout_steps,
        "steps_per_sec": speed.steps_per_second,
        "steps_per_sec_mean": speed.steps_per_second,
        "updates_per_sec_mean": speed.updates_per_second,
        "replay_fill_final": speed.replay_fill,
        "gpu_util_mean": utilization,
        "gpu_util_mean_window": utilization,
        "duration_sec": speed.seconds,
    }


if __name__ == "__main__":
    sys.exit(run_script("benchmark_overlap", main))
