"""What an observation is made of: pictures, the console's RAM, or both, the RAM in rows beneath the picture."""

import numpy as np
import numpy.typing as npt

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.native.bindings import Observed
from mario_a3c.native.console import RAM_BYTES
from mario_a3c.native.environments import frame_shape, ram_rows
from mario_a3c.native.view import View


def observed(config: MarioEnvConfig) -> Observed:
    return Observed[config.observe.upper()]


def observation_shape(config: MarioEnvConfig) -> tuple[int, int, int]:
    """Frames, rows and columns of what an agent is shown."""
    return config.frame_stack, *frame_shape(observed(config), View())


def picture_rows(config: MarioEnvConfig) -> int:
    """So many rows of a frame are its picture."""
    return 0 if config.observe == "ram" else View().out_height


def ram_as_rows(ram: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    width = View().out_width
    return np.pad(ram, (0, ram_rows(width) * width - RAM_BYTES)).reshape(-1, width)
