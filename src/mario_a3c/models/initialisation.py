"""How layers begin."""

from typing import TypeVar

from torch import nn

Layer = TypeVar("Layer", bound=nn.Linear | nn.Conv2d)


def orthogonal(layer: Layer, gain: float) -> Layer:
    """Orthogonal weights and no bias, as actor-critics like to start."""
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
