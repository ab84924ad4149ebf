"""A look into a checkpoint, for people."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mario_a3c.checkpoint.container import digest_of
from mario_a3c.checkpoint.sidecar import read_object, sidecar_of
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor or array of the state."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    num_bytes: int
    is_finite: bool


@dataclass(frozen=True, slots=True)
class Description:
    path: Path
    size_bytes: int
    metadata: Mapping[str, Any]
    entries: tuple[Entry, ...]
    values: Mapping[str, Any]
    """What in the state is neither tensor nor array."""

    def as_json(self) -> dict[str, Any]:
        tensors = {
            each.name: {"dtype": each.dtype, "shape": list(each.shape), "is_finite": each.is_finite}
            for each in self.entries
        }
        return {
            "file": str(self.path),
            "size_bytes": self.size_bytes,
            "metadata": self.metadata,
            "tensors": tensors,
            "values": {name: value if _is_json(value) else repr(value) for name, value in self.values.items()},
        }

    def __str__(self) -> str:
        plain = {name: value for name, value in self.metadata.items() if name != "config"}
        lines = [f"{self.path}, {self.size_bytes:,} bytes, every one as it was written", ""]
        lines += [f"{name:<20} {value}" for name, value in plain.items()]
        lines += ["", "settings: " + json.dumps(self.metadata.get("config", {})), "", "state:"]
        for part, entries in self._parts().items():
            total = sum(each.num_bytes for each in entries)
            lines.append(f"  {part}: {len(entries)} tensors, {total:,} bytes")
            lines += [
                f"    {each.name:<60} {each.dtype:<10} {each.shape}{'' if each.is_finite else '  NOT FINITE'}"
                for each in entries
            ]
        lines += [f"    {name:<60} {value}" for name, value in self.values.items()]
        return "\n".join(lines)

    def _parts(self) -> dict[str, list[Entry]]:
        parts: dict[str, list[Entry]] = {}
        for each in self.entries:
            parts.setdefault(each.name.partition(".")[0], []).append(each)
        return parts


def describe_checkpoint(path: Path) -> Description:
    checkpoint = load_checkpoint(path)
    leaves = list(_leaves(checkpoint.state))
    return Description(
        path=path,
        size_bytes=path.stat().st_size,
        metadata=checkpoint.metadata,
        entries=tuple(_entry(name, leaf) for name, leaf in leaves if isinstance(leaf, torch.Tensor | np.ndarray)),
        values={name: leaf for name, leaf in leaves if not isinstance(leaf, torch.Tensor | np.ndarray)},
    )


def find_fault(path: Path) -> str | None:
    """What is wrong with a checkpoint or with the `.json` beside it; None where all is well."""
    try:
        checkpoint = load_checkpoint(path)
    except CheckpointError as error:
        return str(error)
    try:
        described = read_object(sidecar_of(path))
        with open(path, "rb") as file:
            digest = digest_of(file)
    except FileNotFoundError:
        return f"{sidecar_of(path).name} is missing; scripts/backfill_global_step.py writes it anew"
    except (OSError, ValueError) as error:
        return f"{sidecar_of(path).name} cannot be read: {error}"
    if described.get("sha256") != digest:
        return f"{sidecar_of(path).name} speaks of another file"
    if described.get("update") != checkpoint.metadata.get("update"):
        return f"{sidecar_of(path).name} says update {described.get('update')}"
    return None


def _entry(name: str, leaf: Any) -> Entry:
    if isinstance(leaf, torch.Tensor):
        dtype, is_finite = str(leaf.dtype).removeprefix("torch."), bool(torch.isfinite(leaf).all())
    else:
        dtype, is_finite = "record" if leaf.dtype.names else str(leaf.dtype), True
    return Entry(name, dtype, tuple(leaf.shape), leaf.nbytes, is_finite)


def _leaves(state: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(state, Mapping):
        for key, value in state.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    else:
        yield name, state


def _is_json(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
