"""Measures what progress by map costs: `python scripts/benchmark_progress.py --json FILE`."""

import argparse
import dataclasses
import json
import os
import platform
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stages", nargs="+", default=["1-1", "4-4", "8-4"])
    parser.add_argument("--pairs", type=int, default=200, help="rounds with the map, and as many without, in turns")
    parser.add_argument("--steps", type=int, default=100, help="steps of 16 environments in a round")
    parser.add_argument("--json", type=Path, help="write the result to this file, too")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"would play {arguments.pairs} pairs of {arguments.steps} steps in each of {', '.join(arguments.stages)}")
        return 0
    from mario_a3c.bench.progress import measure_progress
    from mario_a3c.cache_dir import CacheConfig, CacheDir
    from mario_a3c.native.start_states import Stage

    cache = CacheDir.open(CacheConfig())
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    print("| stage | position, us of CPU a step | map | extra | 95 % of medians |\n| --- | --- | --- | --- | --- |")
    costs = []
    for name in arguments.stages:
        cost = measure_progress(Stage.parse(name), cache, num_pairs=arguments.pairs, num_steps=arguments.steps)
        costs.append(dataclasses.asdict(cost))
        print(
            f"| {cost.stage} | {cost.position_microseconds} | {cost.map_microseconds} | {cost.extra_percent} % "
            f"| {cost.extra_percent_low} to {cost.extra_percent_high} % |",
            flush=True,
        )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"machine": machine, "costs": costs}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(run_script("benchmark_progress", main))
