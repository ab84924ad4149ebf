"""Makes a smaller file of an agent: plays its stages, and leaves out the features that are heard least.

    python scripts/trim_agent.py big.pt small.pt --stages 1-2,2-4 --features 448

What is left is a network of its own: evaluate it, and train it on with `--init-from small.pt --hidden-size 448`.
"""

import argparse
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a file that `mario checkpoint export` wrote")
    parser.add_argument("target", type=Path, help="the file to write")
    parser.add_argument("--features", type=int, default=448, help="how many are kept (448)")
    parser.add_argument("--stages", help="stages that it shall play; by default those it was trained on")
    parser.add_argument("--episodes", type=int, default=32, help="of each stage, with sticky actions (32)")
    parser.add_argument("--seed", type=int, default=3, help="what they are drawn from (3)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be played")
    arguments = parser.parse_args()

    from mario_a3c.cache_dir import CacheConfig, CacheDir
    from mario_a3c.envs.stages import parse_stages, stages_to_play
    from mario_a3c.evaluation.arena import MarioArenas
    from mario_a3c.evaluation.episodes import list_episodes
    from mario_a3c.native.config import EngineConfig, RomConfig
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import stages_of
    from mario_a3c.training.agent import load_agent
    from mario_a3c.training.trimming import measure_features, trim_agent

    agent = load_agent(arguments.source)
    env, cache = agent.config.vector_env.env, CacheDir.open(CacheConfig())
    rom = locate_rom(RomConfig(), cache, game=env.game, graphics=env.graphics)
    agent.expect_rom(rom)
    stages = parse_stages(arguments.stages, stages_of(rom)) if arguments.stages else stages_to_play(env, rom)
    specs = list_episodes(stages, ["sticky"], arguments.episodes)
    if arguments.dry_run:
        print(f"would play {len(specs)} episodes and keep {arguments.features} features")
        return 0
    arenas = MarioArenas(env, RomConfig(), EngineConfig(), cache)
    heard = measure_features(agent, arenas, specs, seed=arguments.seed)
    trimmed = trim_agent(arguments.source, arguments.target, heard, arguments.features)
    size = arguments.target.stat().st_size / 1e6
    print(
        f"{arguments.target}: {trimmed.num_kept:,} of {trimmed.num_before:,} features, {trimmed.share_heard:.2%} of "
        f"what is heard of them, {size:.1f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_script("trim_agent", main))
