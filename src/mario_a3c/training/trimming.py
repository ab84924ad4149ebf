"""A smaller network that plays the same: features that nobody listens to are left out.

An agent of many stages needs most of its features for stages that others play better. What a feature says in the states
that are met, times how much the actor listens to it, tells what would be missed.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.evaluation.arena import MakeArena
from mario_a3c.evaluation.episodes import EpisodeSpec
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.training.agent import Agent, config_in, weights_in

_FEATURES_OUT = ("backbone.fc.weight", "backbone.fc.bias")  # a row for each feature
_FEATURES_IN = ("actor.weight", "critic.weight")  # a column for each


class Trimmed(NamedTuple):
    num_before: int
    num_kept: int
    share_heard: float
    """What is left of all that the actor heard, in squares."""


def trim_agent(source: Path, target: Path, heard: Tensor, num_features: int) -> Trimmed:
    """Writes a file of weights with the `num_features` that are heard most; [F] as `measure_features` says it."""
    checkpoint = load_checkpoint(source)
    if checkpoint.metadata.get("kind") != "weights" or source.resolve() == target.resolve():
        raise CheckpointError(f"{source} is trimmed into another file, from one that `mario checkpoint export` wrote")
    if not 1 <= num_features <= len(heard):
        raise ConfigError(f"--features must be in [1, {len(heard)}], which is what {source} has, got {num_features}")
    tensors, _ = weights_in(source, checkpoint, config_in(source, checkpoint.metadata), "auto")
    kept = heard.topk(num_features).indices.sort().values
    metadata = dict(checkpoint.metadata)
    config = metadata["config"]
    metadata["config"] = {**config, "model": {**config["model"], "hidden_size": num_features}}
    metadata["note"] = ", ".join(filter(None, [metadata.get("note"), f"trimmed from {len(heard)} features"]))
    save_checkpoint(target, {"learner": {"model": with_features(tensors, kept), "averaged": {}}}, metadata)
    return Trimmed(len(heard), num_features, float(heard[kept].sum() / heard.sum()))


def with_features(tensors: Mapping[str, Tensor], kept: Tensor) -> dict[str, Tensor]:
    """The weights of a network that has these features alone; [K] are their numbers."""
    axis = dict.fromkeys(_FEATURES_OUT, 0) | dict.fromkeys(_FEATURES_IN, 1)
    return {name: each.index_select(axis[name], kept) if name in axis else each for name, each in tensors.items()}


def measure_features(agent: Agent, make_arena: MakeArena, specs: Sequence[EpisodeSpec], *, seed: int) -> Tensor:
    """[F]: how much is heard of each feature while these episodes are played."""
    model = agent.config.model
    if model.recurrent_type != "none" or model.noisy_linear:
        raise CheckpointError("only networks without memory and without noisy heads can be trimmed")
    player = NetworkPlayer(agent.model, torch.device("cpu"))
    said = torch.zeros(model.hidden_size, dtype=torch.float64)
    lock = threading.Lock()

    def listen(_module: nn.Module, _pictures: tuple[Tensor, ...], features: Tensor) -> None:
        squares = features.double().square().sum(0)
        with lock:  # groups of episodes are played by threads
            said.add_(squares)

    hook = player.model.backbone.register_forward_hook(listen)
    try:
        play_episodes(player, make_arena, specs, seed=seed)
    finally:
        hook.remove()
    actor = dict(agent.model.named_parameters())["actor.weight"]  # [A, F]
    return said * actor.double().square().sum(0)
