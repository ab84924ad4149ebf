"""How experience is collected."""

from dataclasses import dataclass

from mario_a3c.errors import ConfigError
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectorConfig:
    """A rollout is so many steps of every environment."""

    rollout_steps: int = option(32, "steps of each environment in a rollout")

    def __post_init__(self) -> None:
        if self.rollout_steps < 1:
            raise ConfigError(f"--rollout-steps must be at least 1, got {self.rollout_steps}")
