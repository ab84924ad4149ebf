"""Summarises the metrics of runs: one line per field with its first, last, least, largest and mean value.

python scripts/metrics_summary.py trained_models/RUN
python scripts/metrics_summary.py RUN_A RUN_B --fields avg_return clear_rate env_steps_per_sec --last 0.5
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mario_a3c.cli.scripts import run_script
from mario_a3c.metrics.summary import FieldSummary, summarise


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, or files of records")
    parser.add_argument("--fields", nargs="+", help="only these; by default all that have values")
    parser.add_argument(
        "--last", type=float, default=1.0, help="only this share of the records, the newest (default 1)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be read")
    arguments = parser.parse_args(argv)
    if not 0 < arguments.last <= 1:
        parser.error(f"--last must be in (0, 1], got {arguments.last}")
    missing = [str(run) for run in arguments.runs if not run.exists()]
    if missing:
        parser.error(f"there is no {', '.join(missing)}")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse_arguments(argv)
    if arguments.dry_run:
        for run in arguments.runs:
            print(f"would read the metrics of {run}")
        return 0
    found: dict[str, Any] = {}
    for run in arguments.runs:
        summary = summarise(run, fields=arguments.fields, share=arguments.last)
        found[str(run)] = {each.name: each.as_dict() for each in summary.fields}
        if not arguments.json:
            print(f"{run}: {summary.num_records} records, {summary.num_skipped} lines skipped")
            print_table(summary.fields)
    if arguments.json:
        print(json.dumps(found, indent=2))
    return 0


def print_table(fields: Sequence[FieldSummary]) -> None:
    print(f"{'field':<28} {'count':>7} {'first':>12} {'last':>12} {'least':>12} {'largest':>12} {'mean':>12}  unit")
    for each in fields:
        numbers = " ".join(
            f"{number:>12.5g}" for number in (each.first, each.last, each.least, each.largest, each.mean)
        )
        print(f"{each.name:<28} {each.count:>7} {numbers}  {each.unit}")


if __name__ == "__main__":
    sys.exit(run_script("metrics_summary", main))
