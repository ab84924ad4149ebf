"""The `.json` beside a checkpoint: derived from it, quick to read, and no proof of anything."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MOST_BYTES = 1 << 22


def sidecar_of(path: Path) -> Path:
    return path.with_suffix(".json")


def to_sidecar(metadata: Mapping[str, Any], size_bytes: int, digest: str) -> bytes:
    described = {**metadata, "size_bytes": size_bytes, "sha256": digest}
    return (json.dumps(described, indent=2) + "\n").encode()


def read_sidecar(path: Path) -> dict[str, Any] | None:
    """What the `.json` of a checkpoint says, if there is one that speaks of a file of this size."""
    try:
        described = read_object(sidecar_of(path))
        return described if described.get("size_bytes") == path.stat().st_size else None
    except (OSError, ValueError):
        return None


def read_object(path: Path) -> dict[str, Any]:
    """Raises ValueError on what is not one, or too large for one."""
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    try:
        described = from_text(content.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(described, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 -- the file is wrong, not the caller
    return described


def from_text(text: Any) -> Any:
    """JSON in which no key is given twice."""
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        raise ValueError("a key is given twice")
    return plain
