"""The one place where the parts are put together."""

import functools
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from mario_a3c.acting.actor import Actor
from mario_a3c.cache_dir import CacheDir
from mario_a3c.collectors.clocked_envs import ClockedEnvs
from mario_a3c.collectors.collector import Collector
from mario_a3c.collectors.overlapped import OverlappedCollector
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.observation import picture_rows
from mario_a3c.envs.progress_map import join_maps
from mario_a3c.errors import ConfigError
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import RolloutShape
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.learning.adaptive import AdaptiveControl
from mario_a3c.learning.learner import Learner
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.execution import Execution, choose_device, decide_execution
from mario_a3c.native.cores import num_cores
from mario_a3c.native.host_memory import keep_freed_memory
from mario_a3c.training.env_start import make_groups, record_start
from mario_a3c.training.progress import Progress
from mario_a3c.training.starts import Ways, make_starts, num_starts, weigh_starts
from mario_a3c.training.stopping import StopRequest
from mario_a3c.training.timing import Timing
from mario_a3c.training.trainer import Parts, Trainer
from mario_a3c.training.warm_start import InitialWeights

_MANY_CORES, _CORES_FOR_OTHERS = 8, 2


@dataclass(frozen=True, slots=True)
class Training:
    """A trainer, and what a run is described by."""

    trainer: Trainer
    execution: Execution
    model_config: ModelConfig
    envs: Sequence[EnvBatch]  # in groups that are stepped in turns
    initial_weights: Mapping[str, Any] | None = None  # where they came from; None: drawn by the seed


def build_training(
    config: TrainingConfig,
    cache: CacheDir,
    stop: StopRequest,
    *,
    failure_dir: Path | None = None,
    envs: Sequence[EnvBatch] | None = None,
    initial_weights: InitialWeights | None = None,
    teacher: MarioActorCritic | None = None,
) -> Training:
    """Everything that a run consists of. `envs` are others than the game's: groups of single frames, [N, 1, H, W]."""
    model_config = config.model.for_device(choose_device(config.execution.device_to_choose).type)
    execution = decide_execution(config.execution, model_config.backbone, cache)
    if torch.device(execution.device).type == "cpu":
        keep_freed_memory()
    started, ways = time.monotonic(), Ways(config, cache, stop)
    envs = make_envs(config, cache, ways, failure_dir) if envs is None else envs
    if failure_dir is not None:
        record_start(failure_dir, envs, time.monotonic() - started)
    teacher = None if teacher is None else execution.acting_copy(teacher)
    model = make_model(config, model_config, execution, envs[0])
    if initial_weights is not None:
        initial_weights.put_into(model)  # before anything copies or averages them
    starts = make_starts(config, ways, envs)
    learner = Learner(
        config.learner, config.returns, model, execution,
        total_updates=config.budget.num_scheduled_updates, seed=config.vector_env.seed, failure_dir=failure_dir,
        teacher=teacher,
    )  # fmt: skip
    parts = assemble(config, execution, learner, envs, starts, stop)

    def before_minibatch() -> None:
        parts.timing.pulse.beat()
        stop.abandon_if_set()

    parts.learner.before_minibatch = before_minibatch
    origin = None if initial_weights is None else initial_weights.origin
    return Training(Trainer(config.budget, parts, stop), execution, model_config, envs, origin)


def make_envs(config: TrainingConfig, cache: CacheDir, ways: Ways, run_dir: Path | None = None) -> list[EnvBatch]:
    """The game. Frames come one by one: they are stacked where they are learned from. Groups share their threads."""
    vector_env = config.vector_env
    sizes, num_threads = group_sizes(config), console_threads(config)
    progress_map = None
    if vector_env.env.progress == "map":
        progress_map = join_maps({stage: way.progress_map for stage, way in ways.by_stage.items()})
    if vector_env.vectorization != "native":
        from mario_a3c.training import other_envs  # Gymnasium is not needed for training, and not everywhere installed

        return make_groups(other_envs.makers(config, sizes, cache, progress_map, run_dir))
    max_starts = num_starts(config, ways)
    makers = [
        functools.partial(
            MarioBatch,
            replace(vector_env, num_envs=size, num_threads=num_threads, env=replace(vector_env.env, frame_stack=1)),
            rom=config.rom,
            engine=config.engine,
            cache=cache,
            first_env=sum(sizes[:group]),
            max_starts=max_starts,
            progress_map=progress_map,
            discount=config.returns.gamma,
        )
        for group, size in enumerate(sizes)
    ]
    first, *others = make_groups(makers)
    for group in others:
        group.share_threads(first)
    return [first, *others]


def group_sizes(config: TrainingConfig) -> list[int]:
    """How many environments each group has: one group where collecting and learning take turns."""
    num_envs, num_groups = config.vector_env.num_envs, config.collector.env_groups
    if not config.collector.overlap_collect:
        return [num_envs]
    if num_groups > num_envs:
        raise ConfigError(f"--env-groups {num_groups} of --num-envs {num_envs} would leave a group empty")
    return [num_envs // num_groups + (group < num_envs % num_groups) for group in range(num_groups)]


def console_threads(config: TrainingConfig) -> int:
    """0 means all cores. Where others act and learn meanwhile, they have two of many: a console that must wait for its
    core keeps all the others waiting."""
    num_threads = config.vector_env.num_threads
    if num_threads or not config.collector.overlap_collect:
        return num_threads
    return num_cores() - _CORES_FOR_OTHERS if num_cores() >= _MANY_CORES else 0


def make_model(
    config: TrainingConfig, model_config: ModelConfig, execution: Execution, envs: EnvBatch
) -> MarioActorCritic:
    """With weights that the seed decides, whatever else drew random numbers before."""
    env = config.vector_env.env
    shape = (env.frame_stack, *envs.observations.shape[2:])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.vector_env.seed)
        model = MarioActorCritic(model_config, envs.num_actions, shape, picture_rows=picture_rows(env))
    return execution.prepare(model)


def assemble(
    config: TrainingConfig,
    execution: Execution,
    learner: Learner,
    envs: Sequence[EnvBatch],
    starts: StartSampler | None,
    stop: StopRequest,
) -> Parts:
    model = learner.model
    collector, timing = make_collector(config, execution, model, envs, starts, stop)
    return Parts(
        collector=collector,
        learner=learner,
        progress=Progress(config.budget.clear_window, config.metrics.return_window),
        timing=timing,
        adaptive=AdaptiveControl(config.adaptive, learner),
        replay=make_replay(config, execution, model) if config.replay.per else None,
        starts=starts,
        can_abandon=not config.collector.overlap_collect,
    )


def make_collector(
    config: TrainingConfig,
    execution: Execution,
    model: MarioActorCritic,
    envs: Sequence[EnvBatch],
    starts: StartSampler | None,
    stop: StopRequest,
) -> tuple[Collector, Timing]:
    frame_stack, seed = config.vector_env.env.frame_stack, config.vector_env.seed
    rollout_steps = config.collector.rollout_steps
    is_shared = torch.device(execution.device).type == "cpu" and not config.collector.overlap_collect
    # Where they take turns on a CPU, the network that learns also acts; elsewhere a copy in the precision of acting.
    acting = model if is_shared else execution.acting_copy(model)
    ends = list(itertools.accumulate(group.num_envs for group in envs))
    streams = torch.arange(ends[-1]).tensor_split(ends[:-1])
    actors = [Actor(acting, execution, each, seed=seed) for each in streams]
    if config.collector.overlap_collect:
        overlapped = OverlappedCollector(
            config.collector, envs, actors, frame_stack=frame_stack, before_rollout=weigh_starts(starts, envs)
        )
        return overlapped, Timing(overlapped.clocks, overlapped.busy_seconds, rollout_steps=rollout_steps)
    clocked = ClockedEnvs(envs[0], stop.abandon_if_set)
    sync = SyncCollector(
        config.collector, clocked, actors[0], frame_stack=frame_stack, before_rollout=weigh_starts(starts, envs)
    )
    return sync, Timing([clocked], rollout_steps=rollout_steps)


def make_replay(config: TrainingConfig, execution: Execution, model: MarioActorCritic) -> PrioritizedReplay:
    num_envs = config.vector_env.num_envs
    shape = RolloutShape(config.collector.rollout_steps, num_envs, *model.observation_shape)
    return PrioritizedReplay(
        config.replay, shape,
        total_updates=config.budget.num_scheduled_updates, state=model.initial_state(num_envs),
        device=execution.device, seed=config.vector_env.seed,
    )  # fmt: skip
