"""What an agent can press: sets of button combinations, in the order that gym-super-mario-bros gives them."""

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import ConfigError

BUTTONS = {"A": 1, "B": 2, "select": 4, "start": 8, "up": 16, "down": 32, "left": 64, "right": 128}

RIGHT_ONLY = ("noop", "right", "right+A", "right+B", "right+A+B")
SIMPLE = (*RIGHT_ONLY, "A", "left")
COMPLEX = (*SIMPLE, "left+A", "left+B", "left+A+B", "down", "up")
ACTION_SETS = {"right_only": RIGHT_ONLY, "simple": SIMPLE, "complex": COMPLEX}

_BITS = {"noop": 0, **{name.lower(): bit for name, bit in BUTTONS.items()}}


def action_names(config: MarioEnvConfig) -> tuple[str, ...]:
    """The combinations of a config's action set; an action is an index into them."""
    return config.actions if config.action_set == "custom" else ACTION_SETS[config.action_set]


def action_buttons(config: MarioEnvConfig) -> npt.NDArray[np.uint8]:
    """What each action presses, as the console's bits. [A]"""
    return np.array([parse_action(name) for name in action_names(config)], np.uint8)


def parse_action(name: str) -> int:
    """The bits of one combination: `parse_action("right+A")` is 129."""
    try:
        bits = [_BITS[part.strip().lower()] for part in name.split("+")]
    except KeyError as error:
        raise ConfigError(
            f"--actions: {error.args[0]!r} in {name!r} is no button; there are noop, {', '.join(BUTTONS)}, joined by +"
        ) from error
    return int(np.bitwise_or.reduce(bits))
