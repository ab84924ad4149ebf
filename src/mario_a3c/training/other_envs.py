"""Environments that are not stepped natively: `--vectorization async` or `sync`, and with them other consoles."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.factory import create_vector_env
from mario_a3c.envs.mario_batch import env_seeds
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.envs.vector_env_batch import VectorEnvBatch
from mario_a3c.errors import ConfigError
from mario_a3c.training.starts import begins_along_ways

LOG_FOLDER = "environments"


def makers(
    config: TrainingConfig,
    sizes: Sequence[int],
    cache: CacheDir,
    progress_map: ProgressMap | None,
    run_dir: Path | None,
) -> list[Callable[[], VectorEnvBatch]]:
    """What makes each group. Processes keep their logs in the run's folder."""
    check_settings(config)
    return [
        functools.partial(make_group, config, sizes, group, cache, progress_map, run_dir) for group in range(len(sizes))
    ]


def make_group(
    config: TrainingConfig,
    sizes: Sequence[int],
    group: int,
    cache: CacheDir,
    progress_map: ProgressMap | None,
    run_dir: Path | None,
) -> VectorEnvBatch:
    vector_env, first_env = config.vector_env, sum(sizes[:group])
    env = replace(vector_env.env, frame_stack=1, float_observations=False)
    log_dir = None if run_dir is None else run_dir / LOG_FOLDER / (f"group_{group}" if len(sizes) > 1 else "")
    envs = create_vector_env(
        replace(vector_env, num_envs=sizes[group], env=env),
        rom=config.rom, engine=config.engine, cache=cache, log_dir=log_dir, progress_map=progress_map,
    )  # fmt: skip
    return VectorEnvBatch(envs, env_seeds(vector_env.seed, first_env, sizes[group]).tolist())


def check_settings(config: TrainingConfig) -> None:
    """What only native environments can do is an error here, not something that does not happen."""
    needs_native = {
        "--curriculum": config.curriculum.curriculum != "none",
        "--power-starts": config.curriculum.power_starts > 0,
        "--start-early, --start-middle and --start-late": begins_along_ways(config),
        "--shaping potential": config.vector_env.env.reward.shaping == "potential",
    }
    for flag, is_asked in needs_native.items():
        if is_asked:
            raise ConfigError(
                f"--vectorization {config.vector_env.vectorization} cannot do {flag}: leave one of them out"
            )
