"""Measures what an evaluation costs beside its network's passes: `python scripts/benchmark_evaluation.py FILE`."""

import argparse
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, nargs="?", help="the agent; by default one that has learned nothing")
    parser.add_argument("--episodes", type=int, default=100, help="of each of the four modes")
    parser.add_argument("--stage", default="1-1")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"would play {arguments.episodes} episodes of {arguments.stage} in each of the four modes")
        return 0
    from mario_a3c.bench.evaluation import measure_evaluation
    from mario_a3c.cache_dir import CacheConfig, CacheDir
    from mario_a3c.envs.config import MarioEnvConfig
    from mario_a3c.models.actor_critic import MarioActorCritic
    from mario_a3c.models.config import ModelConfig
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import load_agent

    model, env = MarioActorCritic(ModelConfig(backbone="nature"), 7), MarioEnvConfig()
    if arguments.checkpoint is not None:
        agent = load_agent(arguments.checkpoint)
        model, env = agent.model, agent.config.vector_env.env
    cache, stage = CacheDir.open(CacheConfig()), Stage.parse(arguments.stage)
    cost = measure_evaluation(model, env, cache, num_episodes=arguments.episodes, stage=stage)
    print(
        f"{cost.num_episodes} episodes, {cost.num_steps:,} steps, {cost.num_passes:,} passes: "
        f"{cost.evaluation_seconds:.1f} s of CPU, {cost.passes_seconds:.1f} s of it in the network, {cost.ratio:.2f}x; "
        f"{cost.lane_use:.0%} of the rows belong to an episode"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_script("benchmark_evaluation", main))
