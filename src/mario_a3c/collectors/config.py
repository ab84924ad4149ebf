"""How experience is collected."""

from dataclasses import dataclass

from mario_a3c.errors import ConfigError
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectorConfig:
    """A rollout is so many steps of every environment."""

    rollout_steps: int = option(32, "steps of each environment in a rollout")
    overlap_collect: bool = option(False, "collect the next rollout while the learner works, with the weights before")
    env_groups: int = option(
        2, "with --overlap-collect: groups of environments, so that one is stepped while the other decides"
    )

    def __post_init__(self) -> None:
        for flag, count in {"--rollout-steps": self.rollout_steps, "--env-groups": self.env_groups}.items():
            if count < 1:
                raise ConfigError(f"{flag} must be at least 1, got {count}")
