"""Training on a small task, and what came of it."""

import torch

from mario_a3c.acting.actor import Actor
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.models.actor_critic import MarioActorCritic
from tests.support.small_networks import CPU

_NUM_STEPS = 100


def returns_of_last_episodes(training: ShortTraining, num_updates: int = 10) -> float:
    """Trains to the end; the mean return of the sampled episodes that ended in the last updates."""
    last: list[float] = []
    for rollout, stats in training.updates():
        if stats.update > training.total_updates - num_updates:
            last.extend(rollout.episodes["total_reward"].tolist())
    return sum(last) / len(last)


def greedy_return(envs: EnvBatch, model: MarioActorCritic) -> float:
    """The mean return of episodes in which the most likely action is taken; -inf where none ends."""
    actor = Actor(model, CPU, torch.arange(envs.num_envs), seed=0, choice="greedy")
    config = CollectorConfig(rollout_steps=_NUM_STEPS)
    collector = SyncCollector(config, envs, actor, frame_stack=model.observation_shape[0])
    returns = collector.next_rollout().episodes["total_reward"]
    return float(returns.mean()) if len(returns) else -float("inf")
