"""What one part of the tree says against another."""

import pytest

from mario_a3c.config import TrainingConfig
from mario_a3c.envs.config import MarioEnvConfig, RewardConfig
from mario_a3c.errors import ConfigError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig


@pytest.mark.parametrize("curriculum", ["starts", "both"])
def test_starts_are_moved_or_fixed_but_not_both(curriculum: str) -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        TrainingConfig(
            curriculum=CurriculumConfig(curriculum=curriculum),  # type: ignore[arg-type]
            starts=StartConfig(start_late=0.3),
        )
    TrainingConfig(curriculum=CurriculumConfig(curriculum="stages"), starts=StartConfig(start_late=0.3))


def test_a_potential_needs_a_map() -> None:
    with pytest.raises(ConfigError, match="--progress map"):
        MarioEnvConfig(reward=RewardConfig(shaping="potential"))


@pytest.mark.parametrize("wrong", [{"clear_rate_to_move": 0.0}, {"real_starts": 1.5}, {"stage_floor": 0.0}])
def test_curricula_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        CurriculumConfig(**wrong)  # type: ignore[arg-type]
