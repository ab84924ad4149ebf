"""Searches for settings: short training runs in this process, chosen by Optuna, the best average return wins.

`python scripts/optuna_search.py --trials 5 [-- flags of mario train]`. Learning rate, entropy, size and memory of the
network are varied around the given settings, which the first trial has. Several processes with the same `--storage`
and `--study-name` work on one study; started again, a study goes on.
"""

import sys
from collections.abc import Sequence

from mario_a3c.cli.scripts import parse_search, run_script
from mario_a3c.search.config import StudyConfig


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse_search(__doc__, StudyConfig, argv)
    from mario_a3c.cli.console_log import log_to_stderr
    from mario_a3c.cli.train import build_training_config, parse_args

    log_to_stderr()
    study_config = StudyConfig(**arguments.options)
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


if __name__ == "__main__":
    sys.exit(run_script("optuna_search.py", main))
