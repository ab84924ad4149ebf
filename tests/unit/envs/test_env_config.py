"""Environment configs: every one survives JSON, and wrong values are named with their flag."""

from typing import Any

import pytest

from mario_a3c.config.json_file import from_json, to_json
from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.errors import ConfigError


def test_a_config_survives_json() -> None:
    config = MarioVectorEnvConfig(
        num_envs=3,
        env=MarioEnvConfig(
            world=8,
            stage=4,
            action_set="custom",
            actions=("noop", "right+B"),
            reward=RewardConfig(reward="classic"),
            augmentation=AugmentationConfig(augment_shift=4),
        ),
    )
    assert from_json(MarioVectorEnvConfig, to_json(config)) == config


@pytest.mark.parametrize(
    ("flag", "wrong"),
    [
        ("--world", {"world": 9}),
        ("--stage", {"stage": 0}),
        ("--stage-span", {"stage_span": 33}),
        ("--frame-skip", {"frame_skip": 0}),
        ("--frame-stack", {"frame_stack": 17}),
        ("--max-episode-steps", {"max_episode_steps": -1}),
        ("--stall-steps", {"stall_steps": -1}),
        ("--noop-max", {"noop_max": 601}),
        ("--sticky", {"sticky": 1.0}),
        ("--observe ram", {"observe": "ram", "show_buttons": True}),
        ("--observe ram", {"observe": "ram", "takes_maximum": True}),
        ("--observe ram", {"observe": "ram", "augmentation": AugmentationConfig(augment_noise=1)}),
        ("--actions", {"action_set": "custom"}),
        ("--action-set", {"actions": ("noop",)}),
    ],
)
def test_a_wrong_value_is_named_with_its_flag(flag: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=flag):
        MarioEnvConfig(**wrong)


@pytest.mark.parametrize(
    ("flag", "wrong"),
    [
        ("--num-envs", {"num_envs": 0}),
        ("--num-threads", {"num_threads": -1}),
        ("--seed", {"seed": -1}),
        ("--vectorization", {"backend": "nes-py"}),
    ],
)
def test_a_wrong_value_of_the_batch_is_named_with_its_flag(flag: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=flag):
        MarioVectorEnvConfig(**wrong)


@pytest.mark.parametrize(
    ("flag", "wrong"),
    [
        ("--augment-shift", {"augment_shift": 33}),
        ("--augment-brightness", {"augment_brightness": 256}),
        ("--augment-noise", {"augment_noise": 128}),
    ],
)
def test_a_wrong_augmentation_is_named_with_its_flag(flag: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=flag):
        AugmentationConfig(**wrong)
