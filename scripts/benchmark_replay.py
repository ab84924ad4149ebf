"""Measures prioritized sampling on the CPU and on the GPU: `python scripts/benchmark_replay.py --json FILE`."""

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
    parser.add_argument("--capacities", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--batch", type=int, default=64, help="sequences in a sample")
    parser.add_argument("--draws", type=int, default=500, help="how often each is measured; the median counts")
    parser.add_argument("--threads", type=int, default=1, help="of torch on the CPU")
    parser.add_argument("--json", type=Path, help="write the result to this file, too")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"would draw {arguments.draws} samples of {arguments.batch} out of {arguments.capacities} sequences")
        return 0
    import torch

    from mario_a3c.bench.replay import measure_sampling

    torch.set_num_threads(arguments.threads)
    times = [
        each
        for capacity in arguments.capacities
        for each in measure_sampling(capacity, arguments.batch, arguments.draws)
    ]
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads"
    print(f"{machine}; GPU: {gpu}; torch {torch.__version__}\n")
    print("| sequences | device | microseconds |\n| --- | --- | --- |")
    for each in times:
        print(f"| {each.capacity:,} | {each.device} | {each.microseconds} |")
    if arguments.json is not None:
        result = {"machine": machine, "gpu": gpu, "torch": torch.__version__}
        result["times"] = [dataclasses.asdict(each) for each in times]  # type: ignore[assignment]
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(run_script("benchmark_replay", main))
