"""Gymnasium's registry knows the environments once this module is imported.

import gymnasium
import mario_a3c.envs.registration
gymnasium.make("mario_a3c/SuperMarioBros-1-1-v0")
"""

import dataclasses
import warnings
from typing import Any

import gymnasium

from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.envs.environment_ids import NAMESPACE, config_of_id, known_ids
from mario_a3c.envs.gym_env import MarioEnv
from mario_a3c.envs.gym_vector_env import MarioVectorEnv
from mario_a3c.errors import ConfigError

_SECTIONS: dict[str, type[Any]] = {"reward": RewardConfig, "augmentation": AugmentationConfig}
_PASSED_ON = ("rom", "engine", "cache")


def register_environments() -> None:
    # v0 to v3 are graphics, as in gym-super-mario-bros; Gymnasium takes them for versions, and v0 for an old one.
    warnings.filterwarnings("ignore", f".*{NAMESPACE}/SuperMarioBros.*out of date", DeprecationWarning)
    for name in known_ids():
        identifier = f"{NAMESPACE}/{name}"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point=f"{__name__}:make_env",
                vector_entry_point=f"{__name__}:make_vector_env",
                kwargs={"name": name},
                disable_env_checker=True,  # it would cost more than the game does; a test runs it
            )


def make_env(name: str, *, render_mode: str | None = None, screen: bool = False, **options: Any) -> MarioEnv:
    """What `gymnasium.make` calls. `options` are those of `MarioEnvConfig` and its sections, by name."""
    passed_on = {key: options.pop(key) for key in _PASSED_ON if key in options}
    return MarioEnv(_config(name, options), render_mode=render_mode, screen=screen, **passed_on)


def make_vector_env(
    name: str,
    *,
    num_envs: int = 1,
    num_threads: int = 0,
    copy: bool = True,
    render_mode: str | None = None,
    **options: Any,
) -> MarioVectorEnv:
    """What `gymnasium.make_vec` calls."""
    passed_on = {key: options.pop(key) for key in _PASSED_ON if key in options}
    config = MarioVectorEnvConfig(num_envs=num_envs, num_threads=num_threads, env=_config(name, options))
    return MarioVectorEnv(config, copy=copy, render_mode=render_mode, **passed_on)


def _config(name: str, options: dict[str, Any]) -> MarioEnvConfig:
    """Options of a section are given flat, `make(id, flag_bonus=1.0)`, or whole, `make(id, reward=RewardConfig())`."""
    given = dict(options)
    if "stage" in given or "world" in given:
        raise ConfigError(f"the stage is in the id, {name}; `reset(options={{'stage': '4-2'}})` begins another")
    for section, section_class in _SECTIONS.items():
        fields = {field.name for field in dataclasses.fields(section_class)} - {section}
        flat = {key: given.pop(key) for key in list(given) if key in fields}
        if isinstance(given.get(section), str):  # make(id, reward="classic")
            flat[section] = given.pop(section)
        if flat:
            given[section] = dataclasses.replace(given.get(section, section_class()), **flat)
    known = {field.name for field in dataclasses.fields(MarioEnvConfig)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ConfigError(f"{name} has no option {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return config_of_id(name, MarioEnvConfig(**given))


register_environments()
