"""What each part of learning is worth, on a small task or on the game: a table, curves and a plot.

`python scripts/ablate.py --task recall --out FOLDER` learns a small task within seconds: V-trace and GAE, one pass and
clipped passes, replay, entropy schedules, noise.

`python scripts/ablate.py --task game --seconds 60 --out FOLDER [--variants base gru] [-- flags of mario train]` trains
on the game, each variant with a command of its own: curricula, progress, replay, memories, networks, augmentation,
noise. Flags behind -- are every variant's, on top of `BASE_FLAGS`. `--redraw FOLDER/ablation_game.json ...` joins what
was measured.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mario_a3c.cli.scripts import run_script

if TYPE_CHECKING:
    from mario_a3c.bench.ablation import Curve, Variant
    from mario_a3c.bench.game_variants import GameVariant
    from mario_a3c.bench.short_training import ShortTraining
    from tests.support.tasks import Corridor, DelayedReward

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tasks are the tests'

TASKS = ("corridor", "delayed", "recall", "game")
_NUM_ENVS, _LR = 16, 2e-3


def main() -> int:
    arguments, parser = parse()
    if arguments.task == "game":
        return ablate_game(arguments, parser)
    return ablate_task(arguments, parser)


def parse() -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, default="recall", help="what is learned")
    parser.add_argument("--seeds", type=int, nargs="+", help="default 0 1 2; for the game 0")
    parser.add_argument("--out", type=Path, default=Path("output/ablation"), help="folder for table, plot and curves")
    parser.add_argument("--dry-run", action="store_true", help="only list the variants")
    small = parser.add_argument_group("small tasks")
    small.add_argument("--updates", type=int, default=80, help="length of a run")
    small.add_argument("--only", nargs="+", default=[], help="variants whose name contains one of these words")
    game = parser.add_argument_group("the game")
    game.add_argument("--seconds", type=float, default=60.0, help="length of a run, without set-up")
    game.add_argument("--variants", nargs="+", help="names of variants; --dry-run lists them")
    game.add_argument("--at-once", type=int, default=1, help="runs that share the machine (1); with --num-threads each")
    game.add_argument("--add", nargs="+", default=[], metavar="NAME=FLAGS", help="variants of your own beside them")
    game.add_argument("--runs", type=Path, help="folder for the runs, by default runs in --out")
    game.add_argument("--title", default="What each part is worth on the game", help="of the table and the plot")
    game.add_argument("--redraw", type=Path, nargs="+", help="measure nothing: numbers of these JSON files")
    game.add_argument("flags", nargs="*", help="for `mario train`, behind --")
    return parser.parse_args(), parser


def ablate_game(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from mario_a3c.bench.game_ablation import GameAblation
    from mario_a3c.bench.game_ablation_results import make_table, read_results, write_results
    from mario_a3c.bench.game_variants import BASE_FLAGS

    stem = arguments.out / "ablation_game"
    if arguments.redraw is not None:
        runs = read_results(arguments.redraw)
        write_results(runs, stem, arguments.title)
        print(make_table(runs, arguments.title))
        return 0
    variants = choose_variants(arguments, parser)
    if arguments.dry_run:
        print("\n".join(f"{each.name:<16} {' '.join(each.flags)}" for each in variants))
        return 0
    folder = arguments.runs or arguments.out / "runs"
    ablation = GameAblation(
        base=[*BASE_FLAGS, *arguments.flags], seconds=arguments.seconds, runs=folder, at_once=arguments.at_once
    )
    runs = []
    for runs in ablation.run_all(variants, arguments.seeds or [0], lambda line: print(line, flush=True)):
        write_results(runs, stem, arguments.title)  # a run that is cut off loses nothing
    print(f"\n{make_table(runs, arguments.title)}\nwritten to {stem}.md, .svg and .json, the runs to {folder}")
    return 0 if any(not each.failure for each in runs) else 1


def choose_variants(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> "Sequence[GameVariant]":
    from mario_a3c.bench.game_variants import VARIANTS, GameVariant
    from mario_a3c.errors import ConfigError

    try:
        added = {each.name: each for each in map(GameVariant.parse, arguments.add)}
    except ConfigError as error:
        parser.error(str(error))
    known = {each.name: each for each in VARIANTS} | added
    names = list(known) if arguments.variants is None else [*arguments.variants, *added]
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no variant {', '.join(unknown)}; there are {', '.join(known)}")
    if arguments.seconds <= 0:
        parser.error(f"--seconds must be above 0, got {arguments.seconds}")
    if arguments.at_once < 1:
        parser.error(f"--at-once must be at least 1, got {arguments.at_once}")
    return [known[name] for name in dict.fromkeys(names)]


def ablate_task(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from mario_a3c.bench.ablation import VARIANTS, make_table, run_variants
    from mario_a3c.bench.ablation_plot import make_plot

    variants = [each for each in VARIANTS if not arguments.only or any(word in each.name for word in arguments.only)]
    seeds = [0, 1, 2] if arguments.seeds is None else arguments.seeds
    if not variants or arguments.updates < 1:
        parser.error("nothing to run: --only must name a variant, --updates must be positive")
    if arguments.dry_run:
        print("\n".join(each.name for each in variants))
        return 0
    import torch

    torch.set_num_threads(1)  # the networks are tiny
    curves = run_variants(
        variants,
        seeds,
        lambda variant, seed: make_training(arguments.task, variant, seed, arguments.updates),
        lambda line: print(line, flush=True),
    )
    best = best_return(arguments.task)
    title = f"{arguments.task}: {len(seeds)} seeds, {_NUM_ENVS} environments, best return {best:.2f}"
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
    sys.exit(run_script("ablate", main))
