"""An update with replay: sampling and storing are separate, so that nothing is lost between samples."""

import math

from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.stats import UpdateStats


def update_with_replay(learner: Learner, rollout: Rollout, replay: PrioritizedReplay | None) -> UpdateStats:
    """Learns from a rollout, and from a sample where one is due; stores the rollout at every update."""
    if replay is None:
        return learner.update(rollout)
    sample = replay.sample_if_due()
    stats = learner.update(rollout, sample)
    if math.isfinite(stats.loss_total):  # what nobody can learn from is not kept
        replay.push(rollout)
    if sample is not None:
        replay.update_priorities(sample)
    replay.prefetch()
    return stats
