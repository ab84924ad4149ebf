"""Trains an agent for each of several stages, one after another in this process, and collects their weights.

`python scripts/train_specialists.py --stages 1-2,5-1..5-4 --seconds 60 [-- flags of mario train]`. A run ends when
fresh episodes confirm that its stage is cleared, or when its seconds are over. Started again with the same --out, it
goes on with what is missing.
"""

import sys
from collections.abc import Sequence

from mario_a3c.cli.scripts import parse_search, run_script
from mario_a3c.search.config import SpecialistsConfig


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse_search(__doc__, SpecialistsConfig, argv)
    from mario_a3c.cli.console_log import log_to_stderr, set_verbosity
    from mario_a3c.cli.train import build_training_config, parse_args
    from mario_a3c.errors import ExitCode

    log_to_stderr()
    specialists = SpecialistsConfig(**arguments.options)
    config = build_training_config(parse_args(arguments.flags))
    set_verbosity(quiet=config.display.quiet, verbose=config.display.verbose)
    from mario_a3c.search.specialists import as_table, stages_asked_for, train_specialists, weights_file

    stages, out = stages_asked_for(config, specialists), specialists.out
    if not stages:
        print(f"nothing to train: agents of {specialists.report} clear every stage of --stages {specialists.stages}")
        return ExitCode.DONE
    if arguments.dry_run:
        missing = [str(stage) for stage in stages if not weights_file(out, stage).exists()]
        print(f"would train for {', '.join(missing) or 'no stage'}, at most {specialists.seconds:g} s each, into {out}")
        return ExitCode.DONE
    outcome = train_specialists(config, specialists, stages)
    print(as_table(outcome.specialists))
    if outcome.is_interrupted:
        print("interrupted; the same command goes on", file=sys.stderr)
        return ExitCode.STOPPED
    trained = ",".join(each.stage for each in outcome.specialists if each.has_weights)
    if trained:
        play = f"mario report {out}/*.pt --stages {trained} --seed 1 --no-videos --no-pictures --out {out}/report"
        print(f"next: {play} && python scripts/choose_agents.py {out}/report/report.json --folder {out}")
    return 1 if outcome.failed else ExitCode.DONE


if __name__ == "__main__":
    sys.exit(run_script("train_specialists.py", main))
