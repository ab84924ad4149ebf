"""An agent whose policy a new network follows at first (Schmitt et al. 2018): what was learned once, at great expense,
need not be learned again by a network of another shape."""

import logging

from mario_a3c.config import TrainingConfig
from mario_a3c.errors import CheckpointError
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.training.agent import find_checkpoint, load_agent
from mario_a3c.training.warm_start import action_misfits, env_misfits, picture_misfits

LOG = logging.getLogger("mario.train")


def read_teacher(config: TrainingConfig, update: int) -> MarioActorCritic | None:
    """What `--teacher` names, once it is sure that it sees and does the same. Raises CheckpointError. None where there
    is none, or none any more after so many updates."""
    if config.learner.teacher is None:
        return None
    if update >= config.learner.num_taught_updates(config.budget.num_scheduled_updates):
        return None
    path = find_checkpoint(config.learner.teacher, config.run.save_dir)
    agent = load_agent(path)
    theirs, ours = agent.config.vector_env.env, config.vector_env.env
    if theirs.observe == "ram":  # pictures, however many of them, are not for it
        different = list(action_misfits(theirs, ours))
    else:
        different = [*env_misfits(theirs, ours), *picture_misfits(theirs, ours)]
    if different:
        raise CheckpointError(
            f"--teacher {path} sees or does something else than this run: {'; '.join(map(str, different))}. Train with "
            f"{' '.join(each.remedy for each in different)}, or without --teacher"
        )
    if ours.observe not in (theirs.observe, "both"):
        raise CheckpointError(
            f"--teacher {path} is shown the {theirs.observe}, this run's network the {ours.observe}: with --observe "
            "both each of them has something to look at"
        )
    memory = agent.config.model.recurrent_type
    if memory != "none":
        raise CheckpointError(
            f"--teacher {path} has a memory ({memory}), which is not known where rollouts begin; name one without"
        )
    LOG.info("follows the %s weights of %s (update %d) at first", agent.weights, path, agent.update)
    return agent.model
