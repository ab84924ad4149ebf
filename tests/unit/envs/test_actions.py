"""Action sets: the combinations that gym-super-mario-bros has, in its order, and one's own."""

import pytest

from mario_a3c.envs.actions import COMPLEX, RIGHT_ONLY, SIMPLE, action_buttons, action_names, parse_action
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import ConfigError


def test_the_sets_press_what_gym_super_mario_bros_presses() -> None:
    assert [parse_action(name) for name in RIGHT_ONLY] == [0, 128, 129, 130, 131]
    assert [parse_action(name) for name in SIMPLE[5:]] == [1, 64]
    assert [parse_action(name) for name in COMPLEX[7:]] == [65, 66, 67, 32, 16]
    assert [len(each) for each in (RIGHT_ONLY, SIMPLE, COMPLEX)] == [5, 7, 12]


def test_a_custom_set_is_what_the_config_names() -> None:
    config = MarioEnvConfig(action_set="custom", actions=("NOOP", "down", "Right+a+B"))
    assert action_names(config) == ("NOOP", "down", "Right+a+B")
    assert action_buttons(config).tolist() == [0, 32, 131]


def test_an_unknown_button_is_named() -> None:
    with pytest.raises(ConfigError, match="'jump' in 'right\\+jump' is no button"):
        parse_action("right+jump")
