"""One file holds a run: plain tensors, and JSON that says where in the state each belongs.

`torch.load(path, weights_only=True)` gives `{"format": 1, "metadata": text, "tree": text, "tensors": {name: tensor}}`.
"""

import hashlib
import io
import json
import os
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mario_a3c.durable_file import write_durably
from mario_a3c.errors import CheckpointError
from mario_a3c.stateful import State

FORMAT = 1
_TENSOR, _ARRAY = "$tensor", "$array"  # leaves of the tree that stand for something in `tensors`


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was saved, on the CPU."""

    metadata: Mapping[str, Any]
    state: State


def save_checkpoint(path: Path, state: State, metadata: Mapping[str, Any]) -> Path:
    """Writes the file, then the `.json` of the same stem, which is derived from it and names its size and digest.

    Tensors, NumPy arrays, numbers, texts and nested mappings of them can be saved; keys become texts.
    """
    tensors: dict[str, torch.Tensor] = {}
    tree = _pack(state, "", tensors)
    buffer = io.BytesIO()
    plain = {"format": FORMAT, "metadata": json.dumps(metadata), "tree": json.dumps(tree), "tensors": tensors}
    torch.save(plain, buffer)
    content = buffer.getvalue()
    write_durably(path, content)
    described = {**metadata, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    write_durably(path.with_suffix(".json"), (json.dumps(described, indent=2) + "\n").encode())
    return path


def load_checkpoint(path: Path) -> Checkpoint:
    """Raises CheckpointError on what is missing, damaged or not ours. Nothing in the file is executed."""
    plain = _read(path)
    try:
        metadata, tree = json.loads(plain["metadata"]), json.loads(plain["tree"])
        return Checkpoint(metadata, _unpack(tree, plain["tensors"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is not a checkpoint of this program: {error!r}; name another one") from error


def link_to(link: Path, target: Path) -> None:
    """Makes `link` lead to `target`, by a relative path, replacing what it led to; a reader sees one or the other."""
    link.parent.mkdir(parents=True, exist_ok=True)
    temporary = link.with_name(f".{link.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(os.path.relpath(target, link.parent))
    os.replace(temporary, link)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        plain = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint {path}; see what is there in its folder") from error
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else repr(error)
        raise CheckpointError(f"{path} cannot be read, it may be damaged: {reason}; name another one") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of this program and version; name another one")
    return plain


def _pack(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _pack(each, f"{name}.{key}" if name else str(key), tensors) for key, each in value.items()}
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach().cpu().contiguous()
        return {_TENSOR: name}
    if isinstance(value, np.ndarray):
        # As bytes: records and unsigned numbers have no tensor type of their own.
        raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8).copy()
        tensors[name] = torch.from_numpy(raw)
        return {_ARRAY: name, "dtype": np.lib.format.dtype_to_descr(value.dtype), "shape": list(value.shape)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name or 'the state'} is a {type(value).__name__}, which a checkpoint cannot hold")


def _unpack(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if _TENSOR in tree:
        return tensors[tree[_TENSOR]]
    if _ARRAY in tree:
        described: Any = tree["dtype"]
        if not isinstance(described, str):
            described = [tuple(field) for field in described]  # JSON knows only lists
        dtype: np.dtype[Any] = np.lib.format.descr_to_dtype(described)
        return np.frombuffer(tensors[tree[_ARRAY]].numpy().tobytes(), dtype).reshape(tree["shape"]).copy()
    return {key: _unpack(each, tensors) for key, each in tree.items()}
