"""Why does an agent fail? Plays a stage with sticky actions, goes back from each failure, and tries every action there.

    python scripts/explain_failures.py pretrained/eight.pt --stage 1-2 --failures 12

Prints how often it fails from so many steps before, as the agent plays and if the best action is taken first; writes
all numbers to failures.json, and to failures.png the moments in which another action would have saved most.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="a run's checkpoint, or a file of weights")
    parser.add_argument("--stage", required=True, help="where it fails, like 1-2")
    parser.add_argument("--failures", type=int, default=12, help="how many are looked at (12)")
    parser.add_argument("--most-episodes", type=int, default=1000, help="that are played to find them (1000)")
    parser.add_argument("--tries", type=int, default=24, help="of each action at each moment (24)")
    parser.add_argument(
        "--steps-before", type=int, nargs="+", default=[4, 6, 8, 10, 12, 16, 20], help="the moments (4 6 8 10 12 16 20)"
    )
    parser.add_argument("--seed", type=int, default=0, help="what everything is drawn from (0)")
    parser.add_argument("--out", type=Path, default=Path("output/failures"), help="folder for what is written")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be played")
    arguments = parser.parse_args()
    if min(arguments.failures, arguments.most_episodes, *arguments.steps_before) < 1 or arguments.tries < 2:
        parser.error("--failures, --most-episodes and --steps-before must be at least 1, --tries at least 2")
    if arguments.dry_run:
        print(f"would look for {arguments.failures} failures in {arguments.stage}")
        return 0

    from mario_a3c.durable_file import make_folder, write_durably
    from mario_a3c.training.explaining import Trials, draw_failures, explain_failures

    trials = Trials(
        num_failures=arguments.failures,
        most_episodes=arguments.most_episodes,
        num_tries=arguments.tries,
        steps_before=sorted(set(arguments.steps_before)),
        seed=arguments.seed,
    )
    make_folder(arguments.out)  # what cannot be written is found out before anything is played
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:.0f} s] {line}", flush=True)

    explained = explain_failures(arguments.checkpoint, arguments.stage, trials, say)
    print(explained.table())
    write_durably(arguments.out / "failures.json", (json.dumps(explained.as_json(), indent=1) + "\n").encode())
    print(f"pictures: {draw_failures(explained, arguments.out / 'failures.png')}")
    return 0


if __name__ == "__main__":
    sys.exit(run_script("explain_failures", main))
