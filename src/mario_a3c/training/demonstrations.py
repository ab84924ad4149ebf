"""What the search found is shown to an agent before it learns: the way to the first mushroom of each stage.

Chance does not stop under a block, jump at the right moment, and wait for what comes out of it. So a network first
copies the search's steps to there, and keeps doing what it did everywhere behind. What it copies is one way, without
disturbances; to come through with them, and whether the mushroom is worth it, is for the learning that follows.
"""

import copy
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from mario_a3c.algorithms.losses import divergence_from
from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage

LOG = logging.getLogger("mario.train")

_RUNS = 8  # of each way
_ANCHOR_ENVS, _ANCHOR_STEPS, _ANCHOR_EVERY = 128, 256, 4
_BATCH, _LR = 512, 1e-4


class Shown(NamedTuple):
    """Decisions. [D, C, H, W] uint8, [D]"""

    observations: Tensor
    actions: Tensor


def copy_demonstrations(
    config: TrainingConfig, cache: CacheDir, model: MarioActorCritic, paths: Mapping[Stage, ActionPath]
) -> None:
    """`--demo-steps` optimizer steps on a network that has learned, or has not."""
    device = next(model.parameters()).device
    shown = _show(config, cache, paths)
    anchors = _play(config, cache, model, paths)
    learning = copy.deepcopy(model)  # not compiled: for so few steps that takes longer
    with torch.no_grad():
        before = torch.cat([_log_policy(learning, part.to(device)).cpu() for part in torch.split(anchors, _BATCH)])
    optimizer = torch.optim.Adam(learning.parameters(), lr=_LR)
    generator = torch.Generator().manual_seed(config.vector_env.seed)
    num_steps = config.learner.demo_steps
    for step in range(num_steps):
        mine = torch.randint(len(shown.actions), (_BATCH,), generator=generator)
        kept = torch.randint(len(anchors), (_BATCH,), generator=generator)
        copied = functional.nll_loss(
            _log_policy(learning, shown.observations[mine].to(device)), shown.actions[mine].to(device)
        )
        strayed = divergence_from(before[kept].to(device), _log_policy(learning, anchors[kept].to(device))).mean()
        optimizer.zero_grad()
        (copied + strayed).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 50 == 0 or step == num_steps - 1:
            LOG.info(
                "copying: step %d of %d, loss %.3f, strayed %.4f", step + 1, num_steps, copied.item(), strayed.item()
            )
    with torch.no_grad():
        for ours, learned in zip(model.parameters(), learning.parameters(), strict=True):
            ours.copy_(learned)


def _log_policy(model: MarioActorCritic, observations: Tensor) -> Tensor:
    log_policy: Tensor = model(observations).logits.float().log_softmax(-1)
    return log_policy


def _show(config: TrainingConfig, cache: CacheDir, paths: Mapping[Stage, ActionPath]) -> Shown:
    """The ways, each played as it was found, and again after some steps of waiting; not those that miss it then."""
    players = [(stage, path, delay) for stage, path in paths.items() for delay in range(_RUNS)]
    batch = _batch(config, cache, num_envs=len(players), noop_max=0, sticky=0.0)
    noop = batch.action_names.index("noop")
    batch.reset(state=[batch.stage_start(stage).state for stage, _, _ in players])
    seen: list[list[npt.NDArray[np.uint8]]] = [[] for _ in players]
    for step in range(max(len(path) for path in paths.values()) + _RUNS - 1):
        actions = np.full(len(players), noop)
        for env, (_, path, delay) in enumerate(players):
            if delay <= step < delay + len(path):
                actions[env] = path[step - delay]
                seen[env].append(batch.observations[env].copy())
        batch.step(actions)
    has_taken = (batch.episodes["num_power_ups"] > 0).tolist()
    batch.close()
    chosen = [env for env in range(len(players)) if has_taken[env]]
    LOG.info("%d of %d ways to mushrooms are shown", len(chosen), len(players))
    return Shown(
        torch.from_numpy(np.concatenate([np.stack(seen[env]) for env in chosen])),
        torch.from_numpy(np.concatenate([players[env][1].astype(np.int64) for env in chosen])),
    )


def _play(
    config: TrainingConfig, cache: CacheDir, model: MarioActorCritic, paths: Mapping[Stage, ActionPath]
) -> Tensor:
    """What the network meets behind the mushrooms, and in stages that have none. [D, C, H, W] uint8"""
    env = config.vector_env.env
    batch = _batch(config, cache, num_envs=_ANCHOR_ENVS, noop_max=env.noop_max, sticky=env.sticky, autoreset=True)
    batch.reset()
    lengths = {(stage.world - 1) * 4 + stage.number - 1: len(path) for stage, path in paths.items()}
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(config.vector_env.seed)
    kept = []
    for step in range(_ANCHOR_STEPS):
        observations = torch.from_numpy(batch.observations)
        with torch.no_grad():
            policy = _log_policy(model, observations.to(device)).exp().cpu()
        if step % _ANCHOR_EVERY == 0:
            episodes = batch.episodes
            behind = [lengths.get(int(level), 0) for level in episodes["level"]]
            kept.append(observations[torch.from_numpy(episodes["num_steps"] > np.array(behind))].clone())
        batch.step(torch.multinomial(policy, 1, generator=generator)[:, 0].numpy())
    batch.close()
    return torch.cat(kept)


def _batch(
    config: TrainingConfig, cache: CacheDir, *, num_envs: int, noop_max: int, sticky: float, autoreset: bool = False
) -> MarioBatch:
    vector_env = config.vector_env
    reward = replace(vector_env.env.reward, shaping="difference")
    env = replace(vector_env.env, noop_max=noop_max, sticky=sticky, progress="position", reward=reward)
    return MarioBatch(
        replace(vector_env, num_envs=num_envs, env=env),
        rom=config.rom, engine=config.engine, cache=cache, autoreset=autoreset,
    )  # fmt: skip
