"""A trained agent, from its checkpoint alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from mario_a3c.checkpoint.export import export_weights
from mario_a3c.checkpoint.store import Checkpoint, load_checkpoint, read_metadata
from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import from_json
from mario_a3c.envs.actions import action_names
from mario_a3c.envs.observation import observation_shape
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.native.rom import Rom
from mario_a3c.stateful import State, check_fit

WeightsChoice = Literal["auto", "averaged", "last"]

# An average that still remembers the beginner plays worse than the last weights. After four spans of it 5 % of its
# weight lie on the first of them.
_MOST_OF_RUN_AVERAGED = 0.25


@dataclass(frozen=True, slots=True)
class Agent:
    """A network with its weights, and the environment that it knows."""

    model: MarioActorCritic
    config: TrainingConfig
    metadata: Mapping[str, Any]
    weights: str  # which were taken: averaged or last

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(action_names(self.config.vector_env.env))

    @property
    def update(self) -> int:
        return int(self.metadata.get("update", 0))

    def expect_rom(self, rom: Rom) -> None:
        """Raises CheckpointError where it was trained on another cartridge: speed and clock differ between them."""
        trained_on = self.metadata.get("rom_sha1", rom.cartridge.sha1)
        if trained_on != rom.cartridge.sha1:
            raise CheckpointError(
                f"the agent was trained on {self.metadata.get('rom', 'a ROM')} (SHA-1 {trained_on}), here is "
                f"{rom.title} ({rom.cartridge.sha1}); name the other with --rom, or say --any-rom"
            )


def find_checkpoint(named: Path | None, save_dir: Path) -> Path:
    """The file that is meant: itself, the latest of a run's folder, or without a name the newest run's latest."""
    if named is not None and named.is_file():
        return named
    folder = save_dir if named is None else named
    there = sorted(folder.glob("a3c_*_latest.pt"), key=lambda path: path.stat().st_mtime)
    if there:
        return there[-1]
    if named is None:
        raise CheckpointError(f"{save_dir} holds no checkpoint; train first, or name one with --checkpoint")
    files = sorted(path.name for path in folder.glob("*.pt"))
    if files:
        raise CheckpointError(f"{named} holds several agents: name one of them, {', '.join(files)}")
    runs = sorted(path.parent.name for path in save_dir.glob("*/a3c_*_latest.pt"))
    raise CheckpointError(
        f"there is no checkpoint {named}; " + (f"runs in {save_dir}: {', '.join(runs)}" if runs else "train first")
    )


def load_agent(path: Path, weights: WeightsChoice = "auto") -> Agent:
    """From a run's checkpoint, or from one with weights alone. Nothing but the file is needed."""
    checkpoint = load_checkpoint(path)
    config = without_teachers_view(config_in(path, checkpoint.metadata))
    tensors, taken = weights_in(path, checkpoint, config, weights)
    model = MarioActorCritic(
        config.model, len(action_names(config.vector_env.env)), observation_shape(config.vector_env.env)
    )
    _expect_actions(path, checkpoint.metadata, config)
    check_fit("network", tensors, dict(model.named_parameters()))
    model.load_state_dict({name: each.float() for name, each in tensors.items()})
    return Agent(model.eval().requires_grad_(False), config, checkpoint.metadata, taken)


def export_agent(source: Path, target: Path, wanted: WeightsChoice = "auto") -> str:
    """Writes weights of a checkpoint alone, in half precision: no consoles, no optimizer. Says which they are."""

    def choose(checkpoint: Checkpoint) -> tuple[Mapping[str, Tensor], str]:
        return weights_in(source, checkpoint, config_in(source, checkpoint.metadata), wanted)

    export_weights(source, target, choose)
    return str(read_metadata(target)["weights"])


def untrained(agent: Agent) -> Agent:
    """What it was before its run's first update: weights that the seed alone decides."""
    if "initial_weights" in agent.metadata:
        raise CheckpointError("the run began with weights of another one, which its checkpoints do not hold")
    config = agent.config
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.vector_env.seed)
        model = MarioActorCritic(config.model, len(agent.actions), observation_shape(config.vector_env.env))
    metadata = {**agent.metadata, "update": 0, "global_step": 0, "seconds": 0.0}
    return Agent(model.eval().requires_grad_(False), config, metadata, "first")


def weights_in(
    path: Path, checkpoint: Checkpoint, config: TrainingConfig, wanted: WeightsChoice
) -> tuple[Mapping[str, Tensor], str]:
    """The weights that are asked for, and which they are. A file for a release may hold one kind alone."""
    only = checkpoint.metadata.get("weights")
    if only is not None and wanted not in ("auto", only):
        raise CheckpointError(f"{path} holds the {only} weights alone; leave --weights {wanted} out")
    try:
        tensors, taken = choose_weights(checkpoint.state["learner"], config, "last" if only else wanted)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path} holds no network: {error} is missing; name a run's checkpoint") from error
    return tensors, only or taken


def choose_weights(learner: State, config: TrainingConfig, wanted: WeightsChoice) -> tuple[Mapping[str, Tensor], str]:
    """The averaged weights or the last ones. `auto`: the average, once it spans a quarter of the run or less."""
    averaged: State = learner.get("averaged") or {}
    if wanted == "averaged" and not averaged:
        raise CheckpointError("this checkpoint has no averaged weights (--ema-decay 0); leave --weights averaged out")
    span = 1 / (1 - config.learner.ema_decay)
    is_settled = bool(averaged) and span <= _MOST_OF_RUN_AVERAGED * averaged["num_updates"]
    if wanted == "averaged" or (wanted == "auto" and is_settled):
        return averaged["weights"], "averaged"
    return learner["model"], "last"


def config_in(path: Path, metadata: Mapping[str, Any]) -> TrainingConfig:
    """What an agent was trained with."""
    if "config" not in metadata:
        raise CheckpointError(f"{path} does not say with which options it was trained; name a run's checkpoint")
    try:
        return from_json(TrainingConfig, json.dumps(metadata["config"]))
    except ConfigError as error:
        raise CheckpointError(
            f"{path} was written by version {metadata.get('version', 'unknown')} with options that this one does not "
            f"know: {error}"
        ) from error


def _expect_actions(path: Path, metadata: Mapping[str, Any], config: TrainingConfig) -> None:
    ours, theirs = list(action_names(config.vector_env.env)), metadata.get("actions")
    if theirs is not None and list(theirs) != ours:
        raise CheckpointError(
            f"{path} was trained with the actions {', '.join(theirs)}; --action-set "
            f"{config.vector_env.env.action_set} means {', '.join(ours)} here"
        )


def without_teachers_view(config: TrainingConfig) -> TrainingConfig:
    """What was shown beneath the picture was for a teacher: who has learned plays by pictures alone."""
    vector_env = config.vector_env
    if vector_env.env.observe != "both" or config.model.backbone == "ram":
        return config
    return replace(config, vector_env=replace(vector_env, env=replace(vector_env.env, observe="picture")))
