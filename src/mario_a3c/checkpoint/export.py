"""Weights alone, in half precision: for releases, and for moving between machines.

What is left has the layout of a whole checkpoint, so whoever reads weights from one reads them from the other.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from mario_a3c.checkpoint.store import Checkpoint, load_checkpoint, save_checkpoint
from mario_a3c.errors import CheckpointError

ChooseWeights = Callable[[Checkpoint], tuple[Mapping[str, torch.Tensor], str]]
"""One set of a checkpoint's weights, and which it is: averaged or last."""

_LARGEST_HALF = 65504.0
# What the run did on its machine, and what its files were called there.
_LEFT_OUT = ("run_id", "device", "python", "tensorboard_log_dir", "wandb_id")
_SECTIONS_LEFT_OUT = ("run", "cache", "rom", "metrics", "monitoring", "display")


def export_weights(source: Path, target: Path, choose: ChooseWeights | None = None) -> Path:
    """Writes the weights that `choose` takes, else the last and the averaged ones, and what evaluation needs to know.
    No consoles, no optimizer. A file of one set says which under `weights`."""
    checkpoint = load_checkpoint(source)
    if source.resolve() == target.resolve():
        raise CheckpointError(f"{target} would replace the checkpoint itself; give another name")
    metadata = _metadata(checkpoint, source)
    if choose is None:
        learner = _both(source, checkpoint.state.get("learner", {}))
    else:
        weights, metadata["weights"] = choose(checkpoint)
        learner = {"model": _half(weights), "averaged": {}}
    return save_checkpoint(target, {"learner": learner}, metadata)


def _both(source: Path, learner: Mapping[str, Any]) -> dict[str, Any]:
    if not learner.get("model"):
        raise CheckpointError(f"{source} holds no network")
    averaged = learner.get("averaged") or {}
    if averaged:
        averaged = {"num_updates": averaged["num_updates"], "weights": _half(averaged["weights"])}
    return {"model": _half(learner["model"]), "averaged": averaged}


def _metadata(checkpoint: Checkpoint, source: Path) -> dict[str, Any]:
    metadata = checkpoint.metadata
    config = {name: part for name, part in metadata["config"].items() if name not in _SECTIONS_LEFT_OUT}
    kept = {name: value for name, value in metadata.items() if name not in _LEFT_OUT}
    if "initial_weights" in kept:
        kept["initial_weights"] = {**kept["initial_weights"], "file": Path(kept["initial_weights"]["file"]).name}
    if "progress" in checkpoint.state:
        kept["seconds"] = checkpoint.state["progress"].get("seconds")
    return {**kept, "config": config, "kind": "weights", "precision": "float16", "exported_from": source.name}


def _half(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not bool((tensor.abs() <= _LARGEST_HALF).all()):
            raise CheckpointError(f"{name} holds values that half precision cannot: {tensor.abs().max().item():g}")
    return {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
