"""The functions that make environments, from a config or from an id that people know."""

import dataclasses
import functools
import logging
import time
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs.backends import create_backend_env
from mario_a3c.envs.config import Backend, MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.environment_ids import config_of_id
from mario_a3c.envs.gym_env import MarioEnv
from mario_a3c.envs.gym_vector_env import MarioVectorEnv
from mario_a3c.envs.process_vector_env import ProcessVectorEnv
from mario_a3c.envs.progress_map import ProgressMap
from mario_a3c.errors import ConfigError
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import locate_rom

LOG = logging.getLogger("mario.env")


def create_vector_env(
    config: MarioVectorEnvConfig | str,
    *,
    num_envs: int | None = None,
    copy: bool = True,
    rom: RomConfig | None = None,
    engine: EngineConfig | None = None,
    cache: CacheDir | None = None,
    log_dir: Path | None = None,
    progress_map: ProgressMap | None = None,
) -> "VectorEnv[Any, Any, Any]":
    """Many environments: stepped natively (the default), in processes, or one after another, as the config says.

    In place of a config an id will do: `create_vector_env("SuperMarioBros-1-1-v0", num_envs=8)`. Processes keep their
    logs in `log_dir`, where it is given.
    """
    if isinstance(config, str):
        config = MarioVectorEnvConfig(env=config_of_id(config))
    if num_envs is not None:
        config = dataclasses.replace(config, num_envs=num_envs)
    started = time.monotonic()
    made: VectorEnv[Any, Any, Any]
    if config.vectorization == "native":
        made = MarioVectorEnv(config, copy=copy, rom=rom, engine=engine, cache=cache, progress_map=progress_map)
    else:
        made = _create_from_single(config, rom, engine, cache, log_dir, progress_map)
    LOG.info("[env] %d environments (%s) in %.2f s", config.num_envs, config.vectorization, time.monotonic() - started)
    return made


def create_eval_env(
    config: MarioEnvConfig | str,
    *,
    render_mode: str | None = "rgb_array",
    screen: bool = False,
    backend: Backend = "native",
    rom: RomConfig | None = None,
    engine: EngineConfig | None = None,
    cache: CacheDir | None = None,
    progress_map: ProgressMap | None = None,
) -> "gymnasium.Env[Any, Any]":
    """One environment, to look at: for evaluation, videos and tests. A `MarioEnv`, unless another backend plays."""
    if isinstance(config, str):
        config = config_of_id(config)
    if backend == "native":
        return MarioEnv(
            config,
            render_mode=render_mode,
            screen=screen,
            rom=rom,
            engine=engine,
            cache=cache,
            progress_map=progress_map,
        )
    if config.progress == "map":
        raise ConfigError(f"backend {backend!r} measures progress by position alone; leave --progress map out")
    if screen:
        raise ConfigError(f"backend {backend!r} shows stacked frames alone; leave `screen` out")
    located = locate_rom(
        rom or RomConfig(), cache or CacheDir.open(CacheConfig()), game=config.game, graphics=config.graphics
    )
    return create_backend_env(backend, located, config, render_mode=render_mode)


def _create_from_single(
    config: MarioVectorEnvConfig,
    rom: RomConfig | None,
    engine: EngineConfig | None,
    cache: CacheDir | None,
    log_dir: Path | None,
    progress_map: ProgressMap | None,
) -> "VectorEnv[Any, Any, Any]":
    makers = [
        functools.partial(_make_single, config, index, rom, engine, cache, progress_map)
        for index in range(config.num_envs)
    ]
    if config.vectorization == "sync":
        return gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    return ProcessVectorEnv(makers, timeout_seconds=config.worker_timeout, log_dir=log_dir)


def _make_single(
    config: MarioVectorEnvConfig,
    index: int,
    rom: RomConfig | None,
    engine: EngineConfig | None,
    cache: CacheDir | None,
    progress_map: ProgressMap | None,
) -> "gymnasium.Env[Any, Any]":
    """One of several, in whichever process calls it."""
    started = time.monotonic()
    LOG.info("[env] constructing env %d/%d ...", index + 1, config.num_envs)
    made = create_eval_env(
        config.env,
        render_mode=None,
        backend=config.backend,
        rom=rom,
        engine=engine,
        cache=cache,
        progress_map=progress_map,
    )
    LOG.info("[env] env %d/%d ready in %.2f s", index + 1, config.num_envs, time.monotonic() - started)
    return made
