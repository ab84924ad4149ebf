"""The tree of the components' own configs."""

from dataclasses import dataclass
from typing import Literal

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.cache_dir import CacheConfig
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config.run import BudgetConfig, RunConfig
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.evaluation.config import InRunConfig
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.learning.config import AdaptiveConfig, LearnerConfig
from mario_a3c.metrics.config import DisplayConfig, MetricsConfig
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.options import option, section

PresetName = Literal["auto", "cpu", "gpu"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """Everything that decides a training run. Components are handed their own part, never the whole."""

    preset: PresetName = option(
        "auto", "values for this kind of machine, which other flags override; `--preset NAME --help` shows them"
    )
    budget: BudgetConfig = section(BudgetConfig)
    run: RunConfig = section(RunConfig)
    vector_env: MarioVectorEnvConfig = section(MarioVectorEnvConfig)
    starts: StartConfig = section(StartConfig)
    curriculum: CurriculumConfig = section(CurriculumConfig)
    collector: CollectorConfig = section(CollectorConfig)
    model: ModelConfig = section(ModelConfig)
    execution: ExecutionConfig = section(ExecutionConfig)
    learner: LearnerConfig = section(LearnerConfig)
    returns: ReturnConfig = section(ReturnConfig)
    adaptive: AdaptiveConfig = section(AdaptiveConfig)
    replay: ReplayConfig = section(ReplayConfig)
    metrics: MetricsConfig = section(MetricsConfig)
    monitoring: MonitoringConfig = section(MonitoringConfig)
    display: DisplayConfig = section(DisplayConfig)
    evaluation: InRunConfig = section(InRunConfig)
    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)

    def __post_init__(self) -> None:
        num_envs, pieces = self.vector_env.num_envs, self.learner.minibatches * self.learner.grad_accum
        if pieces > num_envs:
            raise ConfigError(
                f"--minibatches {self.learner.minibatches} of --grad-accum {self.learner.grad_accum} pieces each are "
                f"made of whole environments, and --num-envs is {num_envs}; give it --minibatches {num_envs} or fewer"
            )
        if self.curriculum.moves_starts and any(self.starts.thirds):
            raise ConfigError(
                f"--curriculum {self.curriculum.curriculum} moves the starts of episodes, "
                "--start-early, --start-middle and --start-late fix them: give one of them"
            )
        if self.curriculum.needs_map and self.vector_env.env.progress != "map":
            raise ConfigError("--start-order focus looks at how far episodes come along the way: add --progress map")
        observe, sees_ram = self.vector_env.env.observe, self.model.backbone == "ram"
        if observe != "both" and (observe == "ram") != sees_ram:
            raise ConfigError("--backbone ram and --observe ram belong together: give both, or neither")
        if self.returns.changes_gamma and self.vector_env.env.reward.shaping == "potential":
            raise ConfigError("--shaping potential discounts by one --gamma all along: leave --gamma-final out")
        if self.replay.per and self.replay.per_burn_in >= self.collector.rollout_steps:
            raise ConfigError(
                f"--per-burn-in {self.replay.per_burn_in} leaves nothing of --rollout-steps "
                f"{self.collector.rollout_steps} to learn from"
            )
