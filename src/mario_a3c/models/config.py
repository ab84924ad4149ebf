"""What the network is made of, and how it is run."""

from dataclasses import dataclass, replace
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Backbone = Literal["auto", "nature", "impala", "ram"]
RecurrentType = Literal["none", "gru", "lstm", "transformer", "gtrxl"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """The network: a backbone that sees, a memory, and two heads."""

    backbone: Backbone = option(
        "auto",
        "nature: small, for one stage; impala: residual, for many; ram: reads the console's memory instead of pictures "
        "(--observe); auto: nature on a CPU, impala on a GPU",
    )
    nature_channels: tuple[int, int, int] = option(
        (32, 64, 64), "channels of the three convolutions of the nature backbone"
    )
    nature_blocks: tuple[int, int, int] = option(
        (0, 0, 0),
        "residual blocks after each of them, which change nothing at first: weights of a network with fewer fit",
    )
    impala_channels: tuple[int, ...] = option((16, 32, 32), "channels of each block of the impala backbone")
    residual_blocks: int = option(2, "residual blocks in each block of the impala backbone")
    layer_norm: bool = option(False, "normalise the activations of the backbone")
    average_pool: bool = option(False, "average over the picture before the fully connected layer")
    hidden_size: int = option(512, "features that the backbone makes of a picture")
    recurrent_type: RecurrentType = option("none", "the memory between steps")
    recurrent_hidden_size: int = option(256, "features of the memory")
    transformer_layers: int = option(2, "layers of the transformer and gtrxl memories")
    transformer_heads: int = option(4, "attention heads of the transformer and gtrxl memories")
    memory_length: int = option(64, "steps that the transformer and gtrxl memories look back")
    noisy_linear: bool = option(False, "heads with learned noise, drawn once per rollout and environment")
    parameter_noise: float = option(0.0, "noise of this size on the actor head's weights, drawn like --noisy-linear's")

    def __post_init__(self) -> None:
        sizes = {
            "--nature-channels": min(self.nature_channels),
            "--impala-channels": min(self.impala_channels, default=0),
            "--hidden-size": self.hidden_size,
            "--recurrent-hidden-size": self.recurrent_hidden_size,
            "--transformer-layers": self.transformer_layers,
            "--transformer-heads": self.transformer_heads,
            "--memory-length": self.memory_length,
        }
        for flag, size in sizes.items():
            if size < 1:
                raise ConfigError(f"{flag} must be at least 1, got {size}")
        for flag, least in {
            "--nature-blocks": min(self.nature_blocks),
            "--residual-blocks": self.residual_blocks,
        }.items():
            if least < 0:
                raise ConfigError(f"{flag} must not be negative, got {least}")
        has_heads = self.recurrent_type in ("transformer", "gtrxl")
        if has_heads and self.recurrent_hidden_size % (2 * self.transformer_heads):
            raise ConfigError(
                f"--recurrent-hidden-size {self.recurrent_hidden_size} must be a multiple of twice "
                f"--transformer-heads {self.transformer_heads}"
            )
        if not 0.0 <= self.parameter_noise < float("inf"):
            raise ConfigError(f"--parameter-noise must not be negative, got {self.parameter_noise}")
        if self.parameter_noise and self.noisy_linear:
            raise ConfigError("--noisy-linear learns its own noise: leave --parameter-noise out")

    def for_device(self, device_type: str) -> "ModelConfig":
        """The same with nothing left open: what is built, and what a checkpoint records."""
        if self.backbone != "auto":
            return self
        return replace(self, backbone="nature" if device_type == "cpu" else "impala")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutionConfig:
    """How the network is run. By default the fastest way that this machine has."""

    device: str = option(
        "best",
        "cpu, cuda or cuda:N; best: a GPU where torch sees one, else the CPU; auto: a GPU, or none at all "
        "(--allow-cpu or MARIO_ALLOW_CPU_AUTO=1: then the CPU)",
    )
    allow_cpu: bool = option(False, "--device auto takes the CPU where there is no GPU, as best does")
    amp: bool = option(True, "half precision in the backbone where it is faster here")
    compile: bool = option(True, "compile the backbone with torch.compile where it is faster here")

    def __post_init__(self) -> None:
        kind, _, index = self.device.partition(":")
        if kind not in ("best", "auto", "cpu", "cuda") or (index and not (kind == "cuda" and index.isdigit())):
            raise ConfigError(f"--device must be best, auto, cpu, cuda or cuda:N, got {self.device!r}")

    @property
    def device_to_choose(self) -> str:
        """For `choose_device`."""
        return "best" if self.device == "auto" and self.allow_cpu else self.device
