"""One file holds a run: plain tensors, and JSON that says where in the state each belongs.

`torch.load(path, weights_only=True)` gives `{"format": 2, "metadata": text, "tree": text, "tensors": {name: tensor}}`.
"""

import hashlib
import io
import json
import math
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from mario_a3c.checkpoint.container import DamagedError, check_file, digest_of, seal
from mario_a3c.checkpoint.migrations import FORMAT, migrate
from mario_a3c.checkpoint.sidecar import from_text, read_sidecar, sidecar_of, to_sidecar
from mario_a3c.durable_file import make_folder, replace_file, sync_folder
from mario_a3c.errors import CheckpointError
from mario_a3c.stateful import State

_TENSOR, _ARRAY, _FLOAT = "$tensor", "$array", "$float"  # leaves of the tree that JSON cannot hold themselves
_DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool,
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
)  # fmt: skip
# What torch, NumPy and Python answer to contents that make no sense, once the container is in order.
_SENSELESS = (
    RuntimeError, EOFError, pickle.UnpicklingError, ValueError, KeyError, TypeError, IndexError, AttributeError,
    AssertionError, OverflowError, MemoryError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was saved, on the CPU."""

    metadata: Mapping[str, Any]
    state: State


@dataclass(frozen=True, slots=True)
class Packed:
    """A state that no longer changes: tensors on the CPU, and the tree that they belong to."""

    tree: Any
    tensors: Mapping[str, torch.Tensor]


def pack(state: State) -> Packed:
    """Copies what is on other devices. What is on the CPU is the caller's own, and must be left alone from now on.

    Tensors, NumPy arrays, numbers, texts and nested mappings of them can be saved; keys become texts.
    """
    tensors: dict[str, torch.Tensor] = {}
    return Packed(_pack(state, "", tensors), tensors)


def save_checkpoint(path: Path, state: State | Packed, metadata: Mapping[str, Any]) -> Path:
    """Writes the file, then the `.json` of the same stem, which is derived from it and names its size and digest.

    Both are on disk and were read back when this returns. The folder is made where it is missing.
    """
    make_folder(path.parent)
    write_checkpoint(path, state, metadata)
    sync_folder(path.parent)
    return path


def write_checkpoint(path: Path, state: State | Packed, metadata: Mapping[str, Any]) -> None:
    """`save_checkpoint`, but the names are on disk only after `sync_folder`: for whoever adds links first."""
    content = to_bytes(state if isinstance(state, Packed) else pack(state), metadata)
    replace_file(path, content)
    replace_file(sidecar_of(path), to_sidecar(metadata, len(content), hashlib.sha256(content).hexdigest()))


def to_bytes(packed: Packed, metadata: Mapping[str, Any]) -> bytes:
    plain = {
        "format": FORMAT,
        "metadata": json.dumps(metadata),
        "tree": json.dumps(packed.tree, allow_nan=False),
        "tensors": dict(packed.tensors),
    }
    buffer = io.BytesIO()
    torch.save(plain, buffer)
    return seal(buffer.getvalue())


def load_checkpoint(path: Path) -> Checkpoint:
    """Raises CheckpointError on what is missing, damaged or not ours. Nothing in the file is executed."""
    with _checked(path) as file, _named(path):
        plain = torch.load(file, map_location="cpu", weights_only=True)
        if not {"format", "metadata", "tree", "tensors"} <= plain.keys():
            raise CheckpointError("it is not a checkpoint of this program")
        metadata, state = from_text(plain["metadata"]), _unpack(from_text(plain["tree"]), plain["tensors"])
        if not (isinstance(metadata, dict) and isinstance(state, dict)):
            raise CheckpointError("it is not a checkpoint of this program")
        return Checkpoint(*migrate(plain["format"], metadata, state))


def read_metadata(path: Path) -> dict[str, Any]:
    """What a checkpoint says about itself, when every byte of it is as it was written."""
    return dict(load_checkpoint(path).metadata)


def rebuild_sidecar(path: Path) -> dict[str, Any]:
    """Writes the `.json` of a good checkpoint anew."""
    metadata = read_metadata(path)
    with open(path, "rb") as file:
        digest = digest_of(file)
    replace_file(sidecar_of(path), to_sidecar(metadata, path.stat().st_size, digest))
    sync_folder(path.parent)
    return metadata


@contextmanager
def _checked(path: Path) -> Iterator[IO[bytes]]:
    """The file, opened once: what was checked is what is read."""
    try:
        if not path.is_file():
            raise CheckpointError(f"there is no checkpoint {path}; `mario checkpoint list` shows what is there")
        with open(path, "rb") as file:
            is_sealed = check_file(file)
            if not is_sealed:
                _compare_with_sidecar(path, file)
            file.seek(0)
            yield file
    except (OSError, DamagedError) as error:
        raise CheckpointError(f"{path} cannot be used: {error}; choose another one") from error


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Whatever is wrong with the contents is said with the file's name."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be used: {error}") from error
    except (*_SENSELESS, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else repr(error)
        raise CheckpointError(f"{path} is not a checkpoint of this program: {reason}; choose another one") from error


def _compare_with_sidecar(path: Path, file: IO[bytes]) -> None:
    """Files of format 1 have no seal of their own."""
    described = read_sidecar(path)
    if described is not None and described.get("sha256") != digest_of(file):
        raise DamagedError(f"its bytes are not those that {sidecar_of(path).name} speaks of")


def _pack(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, Mapping):
        packed = {str(key): _pack(each, f"{name}.{key}" if name else str(key), tensors) for key, each in value.items()}
        if any(key.startswith("$") for key in packed):
            raise TypeError(f"{name or 'the state'} has a key that begins with $, which a checkpoint keeps for itself")
        return packed
    if isinstance(value, torch.Tensor):
        if value.dtype not in _DTYPES:
            raise TypeError(f"{name} is a tensor of {value.dtype}, which a checkpoint cannot hold")
        # A storage of its own: a view would be saved with everything that it is a view of.
        tensor = value.detach().cpu().contiguous()
        tensors[name] = tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()
        return {_TENSOR: name}
    if isinstance(value, np.ndarray):
        # As bytes: records and unsigned numbers have no tensor type of their own.
        raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8).copy()
        tensors[name] = torch.from_numpy(raw)
        return {_ARRAY: name, "dtype": np.lib.format.dtype_to_descr(value.dtype), "shape": list(value.shape)}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name or 'the state'} is a {type(value).__name__}, which a checkpoint cannot hold")


def _unpack(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if _TENSOR in tree:
        return tensors[tree[_TENSOR]]
    if _FLOAT in tree:
        return float(tree[_FLOAT])
    if _ARRAY in tree:
        described: Any = tree["dtype"]
        if not isinstance(described, str):
            described = [tuple(field) for field in described]  # JSON knows only lists
        dtype: np.dtype[Any] = np.lib.format.descr_to_dtype(described)
        return np.frombuffer(tensors[tree[_ARRAY]].numpy().tobytes(), dtype).reshape(tree["shape"]).copy()
    return {key: _unpack(each, tensors) for key, each in tree.items()}
