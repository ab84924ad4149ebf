"""Memory that fits: where a run does not, something smaller is tried, and what was chosen is said."""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from mario_a3c.config import TrainingConfig
from mario_a3c.errors import SetupError, first_line
from mario_a3c.models.execution import is_memory_shortage

LOG = logging.getLogger("mario.train.memory")

_FEWEST_ENVS, _SHORTEST_ROLLOUT, _MOST_PIECES = 32, 16, 16


def is_wanted(config: TrainingConfig) -> bool:
    return config.run.auto_mem or os.environ.get("AUTO_MEM") == "1"


def fit_memory(config: TrainingConfig, attempt: Callable[[TrainingConfig], None]) -> TrainingConfig:
    """The first config, from the given one downward, with which `attempt` does not run out of memory."""
    shortage = ""
    for smaller in (config, *steps_down(config)):
        try:
            attempt(smaller)
        except (MemoryError, RuntimeError) as error:
            if not is_memory_shortage(error):
                raise
            shortage = first_line(error)
        else:
            LOG.info("%s fits", size_of(smaller))
            return smaller
        LOG.warning("%s does not fit: %s", size_of(smaller), shortage)
        _forget()
    raise SetupError(f"even {size_of(smaller)} does not fit ({shortage}); free the device or choose a smaller network")


def steps_down(config: TrainingConfig) -> Iterator[TrainingConfig]:
    """Ever smaller: fewer environments, then shorter rollouts, less replay, and minibatches in more pieces."""
    while config.vector_env.num_envs // 2 >= max(_FEWEST_ENVS, config.learner.minibatches):
        config = replace(config, vector_env=replace(config.vector_env, num_envs=config.vector_env.num_envs // 2))
        yield config
    while config.collector.rollout_steps // 2 >= max(_SHORTEST_ROLLOUT, config.replay.per_burn_in + 1):
        shorter = replace(config.collector, rollout_steps=config.collector.rollout_steps // 2)
        config = replace(config, collector=shorter)
        yield config
    least = max(config.vector_env.num_envs, config.replay.per_batch)
    while config.replay.per and config.replay.per_capacity // 2 >= least:
        config = replace(config, replay=replace(config.replay, per_capacity=config.replay.per_capacity // 2))
        yield config
    most = min(_MOST_PIECES, config.vector_env.num_envs // config.learner.minibatches)
    while config.learner.grad_accum * 2 <= most:
        config = replace(config, learner=replace(config.learner, grad_accum=config.learner.grad_accum * 2))
        yield config


def size_of(config: TrainingConfig) -> str:
    replay = f", replay of {config.replay.per_capacity} sequences" if config.replay.per else ""
    pieces = f", minibatches in {config.learner.grad_accum} pieces" if config.learner.grad_accum > 1 else ""
    return f"{config.vector_env.num_envs} environments x {config.collector.rollout_steps} steps{replay}{pieces}"


def _forget() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
