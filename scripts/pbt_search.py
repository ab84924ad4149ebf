"""Population-based training: several runs a piece at a time, the worst going on from the best with changed settings.

`python scripts/pbt_search.py --members 8 --generations 10 [-- flags of mario train]`. Learning rate and entropy are
changed. Started again with the same --out, a population goes on.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from mario_a3c.search.config import PopulationConfig


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse(argv)
    from mario_a3c.cli.console_log import log_to_stderr
    from mario_a3c.cli.train import build_training_config, parse_args
    from mario_a3c.errors import ExitCode, MarioError

    log_to_stderr()
    try:
        population = PopulationConfig(**{each.name: getattr(arguments, each.name) for each in fields(PopulationConfig)})
        config = build_training_config(parse_args(arguments.flags))
        if arguments.dry_run:
            pieces = f"{population.generations} pieces of {population.updates} updates"
            print(f"would train {population.members} members for {pieces} into {population.out}")
            return 0
        from mario_a3c.search.population import run_population

        outcome = run_population(config, population)
    except MarioError as error:
        print(f"pbt_search.py: {error}", file=sys.stderr)
        return error.exit_code
    if outcome is None:
        print("no member finished an episode; give them more --updates", file=sys.stderr)
        return 1
    best = outcome.best
    flags = f"--lr {best.lr:.3g} --entropy-beta {best.entropy_beta:.3g}"
    print(f"best: {best.run}, {population.objective} {best.value:.3f}: {flags}")
    print(f"evaluate it: mario eval --checkpoint {best.run}")
    print(f"train with its settings: python train.py --config {outcome.config_path}")
    return ExitCode.DONE if outcome.is_complete else ExitCode.STOPPED


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(PopulationConfig):
        flag, kind = f"--{each.name.replace('_', '-')}", Path if isinstance(each.default, Path) else type(each.default)
        choices = ["avg_return", "clear_rate"] if each.name == "objective" else None
        parser.add_argument(
            flag, type=kind, default=each.default, choices=choices, help=f"{each.metadata['help']} ({each.default})"
        )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be trained")
    parser.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
