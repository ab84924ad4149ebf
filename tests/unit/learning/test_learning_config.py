"""The flags of everything that learns fit on one command line."""

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config.command_line import parse_command
from mario_a3c.config.json_file import from_json, to_json
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import AdaptiveConfig, LearnerConfig
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.options import flag_of, is_option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Everything:
    """As a training has it."""

    envs: MarioVectorEnvConfig = section(MarioVectorEnvConfig)
    model: ModelConfig = section(ModelConfig)
    execution: ExecutionConfig = section(ExecutionConfig)
    collector: CollectorConfig = section(CollectorConfig)
    returns: ReturnConfig = section(ReturnConfig)
    learner: LearnerConfig = section(LearnerConfig)
    adaptive: AdaptiveConfig = section(AdaptiveConfig)
    replay: ReplayConfig = section(ReplayConfig)


def flags_of(config: Any) -> list[str]:
    flags = [flag_of(each) for each in fields(config) if is_option(each)]
    nested = [getattr(config, each.name) for each in fields(config) if not is_option(each)]
    return flags + [flag for each in nested if is_dataclass(each) for flag in flags_of(each)]


def test_no_flag_is_there_twice() -> None:
    assert [flag for flag, count in Counter(flags_of(Everything())).items() if count > 1] == []


def test_documented_flags_take_effect() -> None:
    words = (
        "--lr 1e-4 --entropy-beta 0.02 --value-coef 0.25 --clip-grad 40 --grad-accum 2 --per --per-sample-interval 4"
    )
    parsed = parse_command(Everything, [*words.split(), "--rollout-steps", "20", "--target", "gae"], prog="test")
    learner = parsed.learner
    assert (learner.lr, learner.entropy_beta, learner.value_coef) == (1e-4, 0.02, 0.25)
    assert (learner.clip_grad, learner.grad_accum) == (40, 2)
    assert (parsed.replay.per, parsed.replay.per_sample_interval) == (True, 4)
    assert (parsed.collector.rollout_steps, parsed.returns.target) == (20, "gae")
    assert '"per_sample_interval": 4' in to_json(parsed)
    assert from_json(Everything, to_json(parsed)) == parsed


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"lr": 0.0}, "--lr"),
        ({"epochs": 0}, "--epochs"),
        ({"minibatches": 0}, "--minibatches"),
        ({"clip_grad": -1.0}, "--clip-grad"),
        ({"warmup_share": 0.9}, "--warmup-share"),
        ({"ema_decay": 1.0}, "--ema-decay"),
        ({"entropy_beta": -0.1}, "--entropy-beta"),
    ],
)
def test_a_setting_that_cannot_work_is_named(options: dict[str, Any], flag: str) -> None:
    with pytest.raises(ConfigError, match=flag):
        LearnerConfig(**options)
