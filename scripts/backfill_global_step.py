"""Mends checkpoint descriptions with global_step 0: `python scripts/backfill_global_step.py trained_models --dry-run`.

global_step = global_update * num_envs * rollout_steps. The original is kept as .json.bak; a second run changes nothing.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", default=[Path("trained_models")], help="checkpoints or folders")
    parser.add_argument(
        "--assume-rollout-steps", type=int, default=64, help="where a file does not say how long rollouts were (64)"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, only say what would be")
    parser.add_argument("--check", action="store_true", help="--dry-run, and exit with 1 where something is to be done")
    parser.add_argument("--quiet", action="store_true", help="leave out files that need nothing")
    arguments = parser.parse_args()

    from mario_a3c.checkpoint.backfill import backfill
    from mario_a3c.errors import MarioError

    is_dry_run = arguments.dry_run or arguments.check
    counts: Counter[str] = Counter()
    try:
        for outcome in backfill(
            arguments.paths, assume_rollout_steps=arguments.assume_rollout_steps, is_dry_run=is_dry_run
        ):
            counts[outcome.kind] += 1
            if not (arguments.quiet and outcome.kind == "unchanged"):
                would = "would be " if is_dry_run and outcome.is_change else ""
                print(f"[migrate] {would}{outcome.kind}: {outcome.path}: {outcome.message}")
    except MarioError as error:
        print(f"[migrate][error] {error}", file=sys.stderr)
        return error.exit_code
    print("[migrate]", ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "no checkpoints")
    is_open = counts["unclear"] > 0 or counts["reconstructed"] + counts["rebuilt"] > 0
    return 1 if arguments.check and is_open else 0


if __name__ == "__main__":
    sys.exit(main())
