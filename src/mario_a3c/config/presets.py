"""Values that suit a kind of machine, so that a newcomer need not tune."""

from dataclasses import replace
from typing import NamedTuple

from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config.run import BudgetConfig
from mario_a3c.config.training import PresetName, TrainingConfig
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.config import ModelConfig


class Wanted(NamedTuple):
    """What somebody wants instead of a preset's own, as far as others of its values hang on it."""

    num_envs: int | None = None
    backbone: str | None = None


ITS_OWN = Wanted()


def preset_config(name: PresetName, wanted: Wanted = ITS_OWN) -> TrainingConfig:
    """Everything that a preset says; what it leaves open has the defaults of the components."""
    if name == "auto":
        raise ConfigError(f"--preset {name} is decided by the device first: cpu or gpu")
    config = _for_a_cpu() if name == "cpu" else _for_a_gpu(wanted)
    most_minibatches = max(1, wanted.num_envs or config.vector_env.num_envs)
    minibatches = min(config.learner.minibatches, most_minibatches)
    return replace(config, learner=replace(config.learner, minibatches=minibatches))


def _for_a_cpu() -> TrainingConfig:
    """Learning takes most of the time: a small net, small minibatches, large steps that become smaller."""
    config = _for_one_stage("cpu", num_envs=16, planned_updates=1000, minibatches=8)
    return replace(
        config,
        model=replace(config.model, nature_channels=(16, 32, 32), hidden_size=256),
        learner=replace(config.learner, lr=1e-3, entropy_beta_final=0.001),
        evaluation=replace(config.evaluation, confirm_margin=0.15),
    )


def _for_a_gpu(wanted: Wanted) -> TrainingConfig:
    config = _for_one_stage("gpu", num_envs=512, planned_updates=250, minibatches=8)
    return replace(
        config,
        collector=replace(config.collector, overlap_collect=True),
        # Updates are few and large: the average must not reach back to the beginning.
        learner=replace(config.learner, ema_decay=0.8),
        # Fresh episodes take as long as many updates: they are asked when they are likely to say yes.
        evaluation=replace(config.evaluation, confirm_margin=0.05),
        # The small net's learner waits for the consoles: what compilation gains in a short run is less than it takes.
        execution=replace(config.execution, compile=wanted.backbone == "impala"),
    )


def _for_one_stage(name: PresetName, *, num_envs: int, planned_updates: int, minibatches: int) -> TrainingConfig:
    """Few steps to a clear matter more than many steps per second: several passes over long rollouts."""
    return TrainingConfig(
        preset=name,
        budget=BudgetConfig(planned_updates=planned_updates),
        vector_env=MarioVectorEnvConfig(num_envs=num_envs),
        collector=CollectorConfig(rollout_steps=64),
        model=ModelConfig(backbone="nature"),
        learner=LearnerConfig(lr=5e-4, epochs=3, minibatches=minibatches, entropy_beta=0.005, entropy_beta_final=0.005),
    )
