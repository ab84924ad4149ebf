"""Small checkpoints of runs that never were."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.training.snapshots import save_model_snapshot

NAMES = CheckpointNames(1, 1)


def small_state(update: int, num_values: int = 64) -> dict[str, Any]:
    """Every value of it is the update's number: a mixture of two is noticed."""
    weights = {"fc.weight": torch.full((num_values,), float(update))}
    return {"learner": {"model": weights, "averaged": {"num_updates": update, "weights": weights}}}


def is_of_update(state: Mapping[str, Any], update: int) -> bool:
    return bool((state["learner"]["model"]["fc.weight"] == update).all())


def small_metadata(update: int, **more: Any) -> dict[str, Any]:
    config = {"learner": {"lr": 0.1}, "vector_env": {"num_envs": 8}, "run": {"save_dir": "secret"}}
    common = {"kind": "run", "run": "run", "run_id": "this", "clear_rate": 0.0, "global_step": update * 10}
    return {**common, "update": update, "saved_at": 0.0, "config": config, **more}


def save_small(folder: Path, update: int, num_values: int = 64, **more: Any) -> Path:
    """In a run's folder, with its links."""
    folder.mkdir(parents=True, exist_ok=True)
    metadata = small_metadata(update, **more)
    return save_model_snapshot(folder, NAMES, lambda: small_state(update, num_values), metadata)
