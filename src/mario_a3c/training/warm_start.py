"""A new run that begins with the weights of another one; everything else of it is new."""

import dataclasses
import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.actions import action_names
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import CheckpointError
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.backbones import Backbone, ResidualBlock
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.execution import choose_device
from mario_a3c.options import flag_of
from mario_a3c.stateful import check_fit
from mario_a3c.training.agent import config_in, find_checkpoint, weights_in

LOG = logging.getLogger("mario.train")

# Options of the network that its weights say nothing about, or that only one kind of network has.
_NO_WEIGHTS = ("parameter_noise",)
_ONLY_NATURE = ("nature_channels", "nature_blocks")
_ONLY_IMPALA = ("impala_channels", "residual_blocks")
_ONLY_MEMORY = ("recurrent_hidden_size",)
_ONLY_TRANSFORMER = ("transformer_layers", "transformer_heads", "memory_length")
_POLICY_HEAD = "actor."
# What the pictures show: with another value the weights fit, and see something else.
_SEEN = ("game", "graphics", "frame_skip", "takes_maximum", "show_buttons")


@dataclass(frozen=True, slots=True)
class InitialWeights:
    """Weights to begin with, and where they come from, as the run's record says it."""

    tensors: Mapping[str, Tensor]
    origin: Mapping[str, Any]
    temperature: float = 1.0
    forgets_uppermost: bool = False
    """Pictures show buttons there now, which these weights would take for something else."""

    @torch.no_grad()
    def put_into(self, model: MarioActorCritic) -> None:
        """Half precision becomes the model's own; devices and memory formats stay as they are."""
        ours = dict(model.named_parameters())
        for name in grown_by(model) - self.tensors.keys():
            del ours[name]
        check_fit(f"network of {self.origin['file']}", self.tensors, ours)
        for name, parameter in ours.items():
            parameter.copy_(self.tensors[name])
            if name.startswith(_POLICY_HEAD):  # its last layer: what it computes are the logits
                parameter.div_(self.temperature)
        if self.forgets_uppermost and isinstance(model.backbone, Backbone):
            model.backbone.forget_uppermost()


def grown_by(model: nn.Module) -> set[str]:
    """Parameters of blocks that change nothing yet: weights of a network without them fit."""
    blocks = {name: each for name, each in model.named_modules() if isinstance(each, ResidualBlock) and each.is_nothing}
    return {f"{at}.{name}" for at, block in blocks.items() for name, _ in block.named_parameters()}


class Difference(NamedTuple):
    flag: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.flag} {_as_flag_value(self.theirs)} there, {_as_flag_value(self.ours)} here"

    @property
    def remedy(self) -> str:
        if isinstance(self.theirs, bool):
            return self.flag if self.theirs else f"--no-{self.flag.removeprefix('--')}"
        return f"{self.flag} {_as_flag_value(self.theirs)}"


def read_initial_weights(config: TrainingConfig) -> InitialWeights | None:
    """What `--init-from` names, once it is sure that it fits. Raises CheckpointError that says what does not."""
    run = config.run
    if run.init_from is None:
        return None
    path = find_checkpoint(run.init_from, run.save_dir)
    checkpoint = load_checkpoint(path)
    metadata, theirs = checkpoint.metadata, config_in(path, checkpoint.metadata)
    tensors, taken = weights_in(path, checkpoint, theirs, run.init_weights)
    model = config.model.for_device(choose_device(config.execution.device_to_choose).type)
    _expect_fit(path, list(misfits(theirs, model, config.vector_env.env)))
    for name in _SEEN:
        before, now = getattr(theirs.vector_env.env, name), getattr(config.vector_env.env, name)
        if before != now:
            LOG.warning("%s learned from other pictures: %s was %s, is %s", path, name, before, now)
    LOG.info("begins with the %s weights of %s (update %s)", taken, path, metadata.get("update", "unknown"))
    origin = {
        "file": str(run.init_from),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "weights": taken,
        "temperature": run.init_temperature,
        **{name: metadata[name] for name in ("run", "update", "global_step", "code_revision") if name in metadata},
    }
    has_new_squares = config.vector_env.env.show_buttons and not theirs.vector_env.env.show_buttons
    can_forget = model.backbone == "nature" and not model.average_pool
    return InitialWeights(tensors, origin, run.init_temperature, has_new_squares and can_forget)


def misfits(theirs: TrainingConfig, model: ModelConfig, env: MarioEnvConfig) -> Iterator[Difference]:
    """Options without which weights mean nothing: the network's, the actions', and the size of an observation."""
    for field in dataclasses.fields(ModelConfig):
        before, now = getattr(theirs.model, field.name), getattr(model, field.name)
        if before != now and _matters(field.name, theirs.model, model) and not _only_grows(field.name, before, now):
            yield Difference(flag_of(field), before, now)
    yield from env_misfits(theirs.vector_env.env, env)


def env_misfits(theirs: MarioEnvConfig, ours: MarioEnvConfig) -> Iterator[Difference]:
    """Of two environments: the actions, and the size of an observation."""
    yield from action_misfits(theirs, ours)
    if theirs.frame_stack != ours.frame_stack:
        yield Difference("--frame-stack", theirs.frame_stack, ours.frame_stack)


def action_misfits(theirs: MarioEnvConfig, ours: MarioEnvConfig) -> Iterator[Difference]:
    if action_names(theirs) != action_names(ours):
        yield Difference("--action-set", theirs.action_set, ours.action_set)
        if theirs.actions:
            yield Difference("--actions", theirs.actions, action_names(ours))


def picture_misfits(theirs: MarioEnvConfig, ours: MarioEnvConfig) -> Iterator[Difference]:
    """What makes pictures look strange to a network that cannot get used to it."""
    if theirs.show_buttons != ours.show_buttons:
        yield Difference("--show-buttons", theirs.show_buttons, ours.show_buttons)


def _matters(name: str, *models: ModelConfig) -> bool:
    if name in _NO_WEIGHTS:
        return False
    if name in _ONLY_NATURE:
        return any(model.backbone == "nature" for model in models)
    if name in _ONLY_IMPALA:
        return any(model.backbone == "impala" for model in models)
    if name in _ONLY_MEMORY:
        return any(model.recurrent_type != "none" for model in models)
    if name in _ONLY_TRANSFORMER:
        return any(model.recurrent_type in ("transformer", "gtrxl") for model in models)
    return True


def _only_grows(name: str, before: Any, now: Any) -> bool:
    """More blocks, which begin as nothing."""
    return name == "nature_blocks" and all(few <= many for few, many in zip(before, now, strict=True))


def _expect_fit(path: Path, differences: list[Difference]) -> None:
    if differences:
        raise CheckpointError(
            f"--init-from {path} does not fit this run: {'; '.join(map(str, differences))}. Train with "
            f"{' '.join(each.remedy for each in differences)}, or begin without --init-from"
        )


def _as_flag_value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
