"""Population-based training: several runs a piece at a time, the worst going on from the best with changed settings.

`python scripts/pbt_search.py --members 8 --generations 10 [-- flags of mario train]`. Learning rate and entropy are
changed. Started again with the same --out, a population goes on.
"""

import sys
from collections.abc import Sequence

from mario_a3c.cli.scripts import parse_search, run_script
from mario_a3c.search.config import PopulationConfig


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse_search(__doc__, PopulationConfig, argv)
    from mario_a3c.cli.console_log import log_to_stderr
    from mario_a3c.cli.train import build_training_config, parse_args
    from mario_a3c.errors import ExitCode

    log_to_stderr()
    population = PopulationConfig(**arguments.options)
    config = build_training_config(parse_args(arguments.flags))
    if arguments.dry_run:
        pieces = f"{population.generations} pieces of {population.updates} updates"
        print(f"would train {population.members} members for {pieces} into {population.out}")
        return 0
    from mario_a3c.search.population import run_population

    outcome = run_population(config, population)
    if outcome is None:
        print("no member finished an episode; give them more --updates", file=sys.stderr)
        return 1
    best = outcome.best
    flags = f"--lr {best.lr:.3g} --entropy-beta {best.entropy_beta:.3g}"
    print(f"best: {best.run}, {population.objective} {best.value:.3f}: {flags}")
    print(f"evaluate it: mario eval --checkpoint {best.run}")
    print(f"train with its settings: python train.py --config {outcome.config_path}")
    return ExitCode.DONE if outcome.is_complete else ExitCode.STOPPED


if __name__ == "__main__":
    sys.exit(run_script("pbt_search.py", main))
