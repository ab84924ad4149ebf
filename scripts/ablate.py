"""What each part of learning is worth on a small task: `python scripts/ablate.py --task recall --out FOLDER`.

Runs the variants (V-trace and GAE, one pass and clipped passes, replay, entropy schedules, noise) with several seeds
and writes a table and a plot.
"""

import argparse
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mario_a3c.bench.ablation import Curve, Variant
    from mario_a3c.bench.short_training import ShortTraining
    from tests.support.tasks import Corridor, DelayedReward

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tasks are the tests'

TASKS = ("corridor", "delayed", "recall")
_NUM_ENVS, _LR = 16, 2e-3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, default="recall", help="what is learned")
    parser.add_argument("--updates", type=int, default=80, help="length of a run")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each variant")
    parser.add_argument("--only", nargs="+", default=[], help="variants whose name contains one of these words")
    parser.add_argument("--out", type=Path, default=Path("output/ablation"), help="folder for table, plot and curves")
    parser.add_argument("--dry-run", action="store_true", help="only list the variants")
    arguments = parser.parse_args()
    from mario_a3c.bench.ablation import VARIANTS, make_plot, make_table, run_variants

    variants = [each for each in VARIANTS if not arguments.only or any(word in each.name for word in arguments.only)]
    if not variants or arguments.seeds < 1 or arguments.updates < 1:
        parser.error("nothing to run: --only must name a variant, --seeds and --updates must be positive")
    if arguments.dry_run:
        print("\n".join(each.name for each in variants))
        return 0
    import torch

    torch.set_num_threads(1)  # the networks are tiny
    curves = run_variants(
        variants,
        range(arguments.seeds),
        lambda variant, seed: make_training(arguments.task, variant, seed, arguments.updates),
        lambda line: print(line, flush=True),
    )
    best = best_return(arguments.task)
    title = f"{arguments.task}: {arguments.seeds} seeds, {_NUM_ENVS} environments, best return {best:.2f}"
    table = f"{title}\n\n{make_table(curves, best)}"
    stem = arguments.out / f"ablation_{arguments.task}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".md").write_text(table)
    stem.with_suffix(".svg").write_text(make_plot(curves, title, best))
    stem.with_suffix(".json").write_text(json.dumps([plain(curve) for curve in curves], allow_nan=False) + "\n")
    print(f"\n{table}\nwritten to {stem}.md, .svg and .json")
    return 0


def make_training(task: str, variant: "Variant", seed: int, num_updates: int) -> "ShortTraining":
    from mario_a3c.bench.ablation import make_settings
    from mario_a3c.bench.short_training import ShortTraining
    from mario_a3c.experience.config import ReplayConfig
    from mario_a3c.learning.config import LearnerConfig
    from tests.support.small_networks import make_network

    replay = ReplayConfig(per_capacity=512, per_batch=16)
    learner_config, returns, replay_config = make_settings(variant, LearnerConfig(lr=_LR), replay)
    return ShortTraining(
        make_task(task, seed),
        make_network(3, recurrent_type="gru" if task == "recall" else "none", seed=seed, **variant.network),
        learner_config=learner_config,
        returns=returns,
        replay_config=replay_config,
        total_updates=num_updates,
        seed=seed,
    )


def make_task(task: str, seed: int) -> "Corridor | DelayedReward":
    from tests.support.tasks import Corridor, DelayedReward

    if task == "corridor":
        return Corridor(_NUM_ENVS, seed=1000 * seed, frame_stack=1)
    return DelayedReward(_NUM_ENVS, recall=task == "recall", seed=1000 * seed, frame_stack=1)


def plain(curve: "Curve") -> dict[str, object]:
    """JSON knows no NaN, which is the return before the first episode ended."""
    returns = [None if math.isnan(each) else round(each, 4) for each in curve.returns]
    return {**asdict(curve), "returns": returns}


def best_return(task: str) -> float:
    return float(make_task(task, 0).best_return)


if __name__ == "__main__":
    sys.exit(main())
