"""Weights alone, in half precision: for releases, and for moving between machines.

What is left has the layout of a whole checkpoint, so whoever reads weights from one reads them from the other.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.errors import CheckpointError

_LARGEST_HALF = 65504.0
# What the run did on its machine, and what its files were called there.
_LEFT_OUT = ("run_id", "device", "python")


def export_weights(source: Path, target: Path) -> Path:
    """Writes the network and its averaged weights, and what evaluation needs to know. No consoles, no optimizer."""
    checkpoint = load_checkpoint(source)
    learner = checkpoint.state.get("learner", {})
    if not learner.get("model"):
        raise CheckpointError(f"{source} holds no network")
    averaged = learner.get("averaged") or {}
    if averaged:
        averaged = {"num_updates": averaged["num_updates"], "weights": _half(averaged["weights"])}
    state = {"learner": {"model": _half(learner["model"]), "averaged": averaged}}
    if source.resolve() == target.resolve():
        raise CheckpointError(f"{target} would replace the checkpoint itself; give another name")
    return save_checkpoint(target, state, _metadata(checkpoint.metadata, source))


def _metadata(metadata: Mapping[str, Any], source: Path) -> dict[str, Any]:
    config = {name: part for name, part in metadata["config"].items() if name not in ("run", "cache", "rom")}
    kept = {name: value for name, value in metadata.items() if name not in _LEFT_OUT}
    return {**kept, "config": config, "kind": "weights", "precision": "float16", "exported_from": source.name}


def _half(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not bool((tensor.abs() <= _LARGEST_HALF).all()):
            raise CheckpointError(f"{name} holds values that half precision cannot: {tensor.abs().max().item():g}")
    return {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
