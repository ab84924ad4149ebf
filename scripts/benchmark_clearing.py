"""Trains one stage from nothing with several seeds, evaluates what comes out, and writes a table and curves.

`python scripts/benchmark_clearing.py --seeds 0 1 2 3 4 --out FOLDER [-- flags of mario train]`
`python scripts/benchmark_clearing.py --redraw FOLDER/clearing.json ... --out FOLDER` joins numbers that are there, and
writes their table and curves
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mario_a3c.cli.scripts import run_script

if TYPE_CHECKING:
    from mario_a3c.bench.clearing import Clearing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=Path("output/clearing"), help="folder for runs, table and numbers")
    parser.add_argument("--title", default="Clear rate of the last training episodes", help="of the curves")
    parser.add_argument("--no-eval", action="store_true", help="do without the 400 fresh episodes of each agent")
    parser.add_argument("--redraw", type=Path, nargs="+", help="measure nothing: numbers of these JSON files")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    parser.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"would train with seeds {', '.join(map(str, arguments.seeds))} into {arguments.out}")
        return 0
    from mario_a3c.bench.clearing import Clearing, make_table, measure_clearing

    if arguments.redraw is not None:
        clearings = [Clearing.from_json(each) for path in arguments.redraw for each in json.loads(path.read_text())]
        write(clearings, arguments.out / "clearing.json", arguments.title)
        print(make_table(clearings))
        return 0
    clearings = []
    for number, seed in enumerate(arguments.seeds, 1):
        print(f"seed {seed} ({number} of {len(arguments.seeds)})", flush=True)
        clearings.append(measure_clearing(seed, arguments.out, arguments.flags, evaluates=not arguments.no_eval))
        write(clearings, arguments.out / "clearing.json", arguments.title)
        print(make_table(clearings), flush=True)
    return 0


def write(clearings: "Sequence[Clearing]", path: Path, title: str) -> None:
    """After every seed: what was measured is not lost when a later one is interrupted."""
    from mario_a3c.bench.clearing import make_table
    from mario_a3c.bench.clearing_plot import make_plot

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(asdict(each)) for each in clearings) + "\n]\n")
    path.with_suffix(".md").write_text(make_table(clearings))
    path.with_suffix(".svg").write_text(make_plot(clearings, f"{title}: median and range of {len(clearings)} seeds"))


if __name__ == "__main__":
    sys.exit(run_script("benchmark_clearing", main))
