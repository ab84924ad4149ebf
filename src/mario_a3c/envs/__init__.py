"""Environments on the console: many at once for the learner, Gymnasium's for everybody else."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
    from mario_a3c.envs.progress_map import ProgressMap

__all__ = ["AugmentationConfig", "MarioEnvConfig", "MarioVectorEnvConfig", "ProgressMap", "RewardConfig"]

_HOMES = {
    "AugmentationConfig": "config",
    "MarioEnvConfig": "config",
    "MarioVectorEnvConfig": "config",
    "ProgressMap": "progress_map",
    "RewardConfig": "config",
}


def __getattr__(name: str) -> Any:
    """Looks a public name up when it is first used: the learner's path needs no Gymnasium, and configs no NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
