"""Searches for settings: short training runs in this process, chosen by Optuna, the best average return wins.

`python scripts/optuna_search.py --trials 5 [-- flags of mario train]`. Learning rate, entropy, size and memory of the
network are varied around the given settings, which the first trial has. Several processes with the same `--storage`
and `--study-name` work on one study; started again, a study goes on.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from mario_a3c.cli.scripts import run_script
from mario_a3c.search.config import StudyConfig


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse(argv)
    from mario_a3c.cli.console_log import log_to_stderr
    from mario_a3c.cli.train import build_training_config, parse_args

    log_to_stderr()
    study_config = StudyConfig(**{each.name: getattr(arguments, each.name) for each in fields(StudyConfig)})
    config = build_training_config(parse_args(arguments.flags))
    if arguments.dry_run:
        print(f"would make {study_config.trials} runs of {study_config.updates} updates into {study_config.out}")
        return 0
    from mario_a3c.search.study import run_study

    best = run_study(config, study_config)
    if best is None:
        print("no trial finished an episode; give them more --updates", file=sys.stderr)
        return 1
    print(f"best: trial {best.number}, {study_config.objective} {best.value:.3f}: {best.flags or 'as given'}")
    print(f"train with it: python train.py --config {best.config_path}")
    return 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(StudyConfig):
        flag, kind = f"--{each.name.replace('_', '-')}", Path if isinstance(each.default, Path) else type(each.default)
        choices = ["avg_return", "clear_rate"] if each.name == "objective" else None
        parser.add_argument(
            flag, type=kind, default=each.default, choices=choices, help=f"{each.metadata['help']} ({each.default})"
        )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be tried")
    parser.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(run_script("optuna_search.py", main))
