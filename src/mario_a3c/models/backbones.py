"""What a picture becomes: convolutions, then `fc` to a vector of features. No BatchNorm: acting and learning see
batches of different sizes, and statistics over a batch would make them disagree about the same picture.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.errors import ConfigError
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.initialisation import orthogonal

_LEAST_CHANNELS = 8
_ROWS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # of a block, by its size: that many bytes in one number


class FirstConvolution(nn.Conv2d):
    """A convolution over few channels. A GPU's matrix units want at least eight, so there it is computed over more,
    with the same result.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > self.in_channels:
            return self.over_blocks(x)
        return self.over_zeros(x) if x.is_cuda else super().forward(x)

    def block_size(self, height: int, width: int) -> int:
        """Steps of s pixels are steps of one over blocks of s x s, whose pixels are channels: s, or 1 where they do not
        fit into the picture."""
        stride = self.stride[0]
        return 1 if any(size % stride for size in (height, width, *self.kernel_size)) else stride

    def over_blocks(self, x: Tensor) -> Tensor:
        """[B, C * s * s, H / s, W / s], from `as_blocks`."""
        return functional.conv2d(x, functional.pixel_unshuffle(self.weight, self.stride[0]), self.bias)

    def over_zeros(self, x: Tensor) -> Tensor:
        """More channels, without anything in them."""
        missing = (0, 0, 0, 0, 0, -self.in_channels % _LEAST_CHANNELS)
        x, weight = (functional.pad(each, missing) for each in (x, self.weight))
        return functional.conv2d(x, weight, self.bias, self.stride, self.padding)


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(relu(x)))), as in IMPALA (Espeholt et al. 2018, figure 3)."""

    def __init__(self, channels: int, layer_norm: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = normalisation(channels, layer_norm), normalisation(channels, layer_norm)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv1(functional.relu(self.norm1(x)))
        y = self.conv2(functional.relu(self.norm2(y)))
        return x + y

    def begin_as_nothing(self) -> "ResidualBlock":
        """Until something is learned here, what goes in comes out: a trained network may grow by it."""
        nn.init.zeros_(self.conv2.weight)
        nn.init.zeros_(self.conv2.bias)  # type: ignore[arg-type]
        return self

    @property
    def is_nothing(self) -> bool:
        return not self.conv2.weight.any() and self.conv2.bias is not None and not self.conv2.bias.any()


class ImpalaBlock(nn.Module):
    """Convolution, max-pool to half the size, residual blocks."""

    def __init__(self, in_channels: int, channels: int, num_residual_blocks: int, layer_norm: bool) -> None:
        super().__init__()
        convolution = nn.Conv2d if in_channels >= _LEAST_CHANNELS else FirstConvolution
        self.conv = convolution(in_channels, channels, 3, padding=1)
        self.residual = nn.Sequential(*(ResidualBlock(channels, layer_norm) for _ in range(num_residual_blocks)))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(self.conv(x), 3, stride=2, padding=1)
        out: Tensor = self.residual(x)
        return out


class Backbone(nn.Module):
    """uint8 pictures [B, C, H, W] -> float32 features [B, hidden_size].

    `precision` is what convolutions and `fc` compute in; the weights stay float32 where they are learned, and may be
    of that precision themselves where they only act.
    """

    precision: torch.dtype = torch.float32

    def __init__(self, config: ModelConfig, observation_shape: tuple[int, int, int]) -> None:
        super().__init__()
        self._picture_rows = observation_shape[1]  # what else lies beneath is not for us
        if config.backbone == "impala":
            self.convolutions = impala_convolutions(config, observation_shape[0])
        elif config.backbone == "nature":
            self.convolutions = nature_convolutions(config, observation_shape[0])
        else:
            raise ConfigError(f"backbone {config.backbone!r} is decided by the device: ModelConfig.for_device")
        first = next((each for each in self.modules() if isinstance(each, FirstConvolution)), None)
        self._block_size = 1 if first is None else first.block_size(*observation_shape[1:])
        self.pool = nn.AdaptiveAvgPool2d(1) if config.average_pool else nn.Identity()
        self._map_shape = self._find_map_shape(observation_shape)
        self.fc = orthogonal(nn.Linear(math.prod(self._map_shape), config.hidden_size), gain=2**0.5)

    def forward(self, observations: Tensor) -> Tensor:
        needs_casts = self.fc.weight.dtype != self.precision
        pictures = observations[:, :, : self._picture_rows]
        x = as_input(pictures, self.precision, self._block_size if observations.is_cuda else 1)
        with torch.autocast(x.device.type, self.precision if needs_casts else None, enabled=needs_casts):
            x = functional.relu(self.pool(self.convolutions(x)))
            x = functional.relu(self.fc(x.flatten(1)))
        return x.float()

    @torch.no_grad()
    def forget_uppermost(self) -> None:
        """Until something is learned there, features hear nothing of the uppermost row of what convolutions find. In a
        Nature network nothing else sees the uppermost eight pixels."""
        self.fc.weight.view(-1, *self._map_shape)[:, :, 0] = 0.0

    def _find_map_shape(self, observation_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """[C, H, W] of what convolutions find."""
        channels, height, width = observation_shape
        try:
            with torch.no_grad():
                found = self.pool(self.convolutions(torch.zeros(1, channels, height, width)))
            return found.shape[1], found.shape[2], found.shape[3]
        except RuntimeError as error:
            raise ConfigError(f"pictures of {height}x{width} are too small for this backbone: {error}") from error


def as_input(observations: Tensor, precision: torch.dtype, block_size: int = 1) -> Tensor:
    """uint8 -> 0..1, channels last; blocks of pixels as channels, where they are wanted."""
    if not observations.is_cuda and block_size == 1:
        # A CPU changes the order of bytes faster than of numbers, and both at once pixel by pixel: half the time.
        pixels = torch.stack(observations.unbind(1), dim=-1).movedim(-1, 1)
        return pixels.to(precision).mul_(1.0 / 255.0)
    if torch.compiler.is_compiling():  # one kernel does all of it
        pixels = observations.to(precision, memory_format=torch.channels_last) * (1.0 / 255.0)
        return functional.pixel_unshuffle(pixels, block_size) if block_size > 1 else pixels
    pixels = as_blocks(observations, block_size) if block_size > 1 else observations
    return pixels.to(precision, memory_format=torch.channels_last).mul_(1.0 / 255.0)


def as_blocks(pictures: Tensor, size: int) -> Tensor:
    """uint8 [B, C, H, W] -> [B, C * s * s, H / s, W / s], channels last: `pixel_unshuffle` while pixels are bytes, and
    for a row of a block at once. Numbers would be moved two or three times."""
    if size not in _ROWS:
        return functional.pixel_unshuffle(pictures, size)
    batch, channels, height, width = pictures.shape
    rows = pictures.contiguous().view(_ROWS[size]).view(batch, channels, height // size, size, width // size)
    blocks = rows.permute(0, 2, 4, 1, 3).contiguous()  # [B, H / s, W / s, C, s]
    return blocks.view(torch.uint8).flatten(3).permute(0, 3, 1, 2)


def impala_convolutions(config: ModelConfig, in_channels: int) -> nn.Sequential:
    widths = pairwise((in_channels, *config.impala_channels))
    return nn.Sequential(*(ImpalaBlock(a, b, config.residual_blocks, config.layer_norm) for a, b in widths))


def nature_convolutions(config: ModelConfig, in_channels: int) -> nn.Sequential:
    """Mnih et al. 2015, and residual blocks after each convolution; the last ReLU is the backbone's own."""
    first, second, third = config.nature_channels
    after_first, after_second, after_third = (
        [ResidualBlock(channels, config.layer_norm).begin_as_nothing() for _ in range(count)]
        for channels, count in zip(config.nature_channels, config.nature_blocks, strict=True)
    )

    def convolution(channels_before: int, channels: int, size: int, stride: int) -> nn.Module:
        return orthogonal(nn.Conv2d(channels_before, channels, size, stride), gain=2**0.5)

    return nn.Sequential(
        orthogonal(FirstConvolution(in_channels, first, 8, stride=4), gain=2**0.5),
        normalisation(first, config.layer_norm),
        nn.Sequential(*after_first, nn.ReLU()),
        convolution(first, second, 4, stride=2),
        normalisation(second, config.layer_norm),
        nn.Sequential(*after_second, nn.ReLU()),
        convolution(second, third, 3, stride=1),
        normalisation(third, config.layer_norm),
        *after_third,
    )


def normalisation(channels: int, layer_norm: bool) -> nn.Module:
    """Over channels and picture of one sample, never over the batch."""
    return nn.GroupNorm(1, channels) if layer_norm else nn.Identity()
