"""Environments on the console: many at once for the learner, Gymnasium's for everybody else."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
    from mario_a3c.envs.env_batch import EndReason, EnvBatch
    from mario_a3c.envs.factory import create_eval_env, create_vector_env
    from mario_a3c.envs.gym_env import MarioEnv
    from mario_a3c.envs.gym_vector_env import MarioVectorEnv
    from mario_a3c.envs.mario_batch import MarioBatch, StartState
    from mario_a3c.envs.png import write_png
    from mario_a3c.envs.progress_map import ProgressMap
    from mario_a3c.envs.vector_env_checker import check_vector_env

__all__ = [
    "AugmentationConfig",
    "EndReason",
    "EnvBatch",
    "MarioBatch",
    "MarioEnv",
    "MarioEnvConfig",
    "MarioVectorEnv",
    "MarioVectorEnvConfig",
    "ProgressMap",
    "RewardConfig",
    "StartState",
    "check_vector_env",
    "create_eval_env",
    "create_vector_env",
    "write_png",
]

_HOMES = {
    "AugmentationConfig": "config",
    "EndReason": "env_batch",
    "EnvBatch": "env_batch",
    "MarioBatch": "mario_batch",
    "MarioEnv": "gym_env",
    "MarioEnvConfig": "config",
    "MarioVectorEnv": "gym_vector_env",
    "MarioVectorEnvConfig": "config",
    "ProgressMap": "progress_map",
    "RewardConfig": "config",
    "StartState": "mario_batch",
    "check_vector_env": "vector_env_checker",
    "create_eval_env": "factory",
    "create_vector_env": "factory",
    "write_png": "png",
}


def __getattr__(name: str) -> Any:
    """Looks a public name up when it is first used: the learner's path needs no Gymnasium, and configs no NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
