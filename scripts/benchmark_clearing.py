"""Trains one stage from nothing with several seeds, evaluates what comes out, and writes a table.

`python scripts/benchmark_clearing.py --seeds 0 1 2 3 4 --out FOLDER [-- flags of mario train]`
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=Path("output/clearing"), help="folder for runs, table and numbers")
    parser.add_argument("--no-eval", action="store_true", help="do without the 400 fresh episodes of each agent")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    parser.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"would train with seeds {', '.join(map(str, arguments.seeds))} into {arguments.out}")
        return 0
    from mario_a3c.bench.clearing import Clearing, make_table, measure_clearing

    clearings: list[Clearing] = []
    for number, seed in enumerate(arguments.seeds, 1):
        print(f"seed {seed} ({number} of {len(arguments.seeds)})", flush=True)
        clearing = measure_clearing(seed, arguments.out, arguments.flags, evaluates=not arguments.no_eval)
        clearings.append(clearing)
        print(make_table(clearings), flush=True)
        text = json.dumps([asdict(each) for each in clearings], indent=1)
        (arguments.out / "clearing.json").write_text(text + "\n")
    (arguments.out / "clearing.md").write_text(make_table(clearings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
