"""The shortest training there is: collect, learn, publish. For comparisons of settings, and for tests."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from mario_a3c.acting.actor import Actor
from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout, RolloutShape
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.learner import Learner
from mario_a3c.learning.replayed import update_with_replay
from mario_a3c.learning.stats import UpdateStats
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.execution import Execution

PLAIN = Execution("cpu", "float32", "none", "the plainest way")


@dataclass
class ShortTraining:
    """Everything that learns together, and one loop over it. Environments show single frames."""

    envs: EnvBatch
    model: MarioActorCritic
    learner_config: LearnerConfig = field(default_factory=LearnerConfig)
    returns: ReturnConfig = field(default_factory=ReturnConfig)
    replay_config: ReplayConfig = field(default_factory=ReplayConfig)
    execution: Execution = PLAIN
    rollout_steps: int = 16
    total_updates: int = 60
    seed: int = 0
    teacher: MarioActorCritic | None = None

    def __post_init__(self) -> None:
        frame_stack, height, width = self.model.observation_shape
        num_envs = self.envs.num_envs
        self.actor = Actor(self.model, self.execution, torch.arange(num_envs), seed=self.seed)
        config = CollectorConfig(rollout_steps=self.rollout_steps)
        self.collector = SyncCollector(config, self.envs, self.actor, frame_stack=frame_stack)
        self.learner = Learner(
            self.learner_config,
            self.returns,
            self.model,
            self.execution,
            total_updates=self.total_updates,
            seed=self.seed,
            teacher=self.teacher,
        )
        self.replay = None
        if self.replay_config.per:
            self.replay = PrioritizedReplay(
                self.replay_config,
                RolloutShape(self.rollout_steps, num_envs, frame_stack, height, width),
                total_updates=self.total_updates,
                state=self.actor.memory,
                device=self.actor.device,
                seed=self.seed,
            )

    def updates(self, count: int | None = None) -> Iterator[tuple[Rollout, UpdateStats]]:
        """As many updates as are asked for, or as the schedules are made for."""
        for _ in range(self.total_updates if count is None else count):
            rollout = self.collector.next_rollout()
            stats = update_with_replay(self.learner, rollout, self.replay)
            self.collector.publish(self.learner.weights())
            yield rollout, stats
