"""Networks, and how this machine runs them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mario_a3c.models.actor_critic import MarioActorCritic, ModelOutput
    from mario_a3c.models.averaged_weights import AveragedWeights
    from mario_a3c.models.backbones import ImpalaBlock
    from mario_a3c.models.execution import Execution, decide_execution
    from mario_a3c.models.heads import NoisyLinear
    from mario_a3c.models.transformer import PositionalEncoding

__all__ = [
    "AveragedWeights",
    "Execution",
    "ImpalaBlock",
    "MarioActorCritic",
    "ModelOutput",
    "NoisyLinear",
    "PositionalEncoding",
    "decide_execution",
]

_HOMES = {
    "AveragedWeights": "averaged_weights",
    "Execution": "execution",
    "ImpalaBlock": "backbones",
    "MarioActorCritic": "actor_critic",
    "ModelOutput": "actor_critic",
    "NoisyLinear": "heads",
    "PositionalEncoding": "transformer",
    "decide_execution": "execution",
}


def __getattr__(name: str) -> Any:
    """Looks a public name up when it is first used: configs are read from this package without loading torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
