"""Older files become what today's program would have written; newer ones are refused.

| format | what changed |
| --- | --- |
| 1 | the first |
| 2 | a seal; `kind` and `run_id` say what it is and whose; the state of the global random generators |
"""

from collections.abc import Callable, Mapping
from typing import Any

from mario_a3c.errors import CheckpointError

FORMAT = 2

Content = tuple[dict[str, Any], dict[str, Any]]
"""Metadata and state."""


def migrate(found: int, metadata: Mapping[str, Any], state: Mapping[str, Any]) -> Content:
    """From the format that a file has to today's, step by step."""
    if not 1 <= found <= FORMAT:
        raise CheckpointError(
            f"it has format {found}, and this version of the program reads 1 to {FORMAT}; use the version that wrote it"
        )
    content: Content = dict(metadata), dict(state)
    for step in range(found, FORMAT):
        content = _MIGRATIONS[step](*content)
    return content


def _from_1(metadata: dict[str, Any], state: dict[str, Any]) -> Content:
    # Nothing in a run drew from the global generators then: that their state is unknown changes nothing.
    return {"kind": "run", "run_id": None, **metadata}, {**state, "random": {}}


_MIGRATIONS: dict[int, Callable[[dict[str, Any], dict[str, Any]], Content]] = {1: _from_1}
