"""What has state can hand it out and take it back, so that a run continues as if it had not stopped."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from mario_a3c.errors import CheckpointError

State = Mapping[str, Any]
"""Names to tensors, numbers, strings, or nested mappings of them. Nothing that needs code to be read back."""


@runtime_checkable
class Stateful(Protocol):
    """`restore(state())` on an equal object gives one that behaves the same from then on."""

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


def gather_state(parts: Mapping[str, Stateful]) -> dict[str, State]:
    return {name: part.state() for name, part in parts.items()}


def restore_state(parts: Mapping[str, Stateful], saved: Mapping[str, State]) -> None:
    """Gives every part its saved state. A part without one, or one without a part, is an error, never a default."""
    missing = sorted(parts.keys() - saved.keys())
    unknown = sorted(saved.keys() - parts.keys())
    if missing or unknown:
        raise CheckpointError(
            f"the saved state does not fit this run: missing {missing or 'nothing'}, unknown {unknown or 'nothing'}; "
            "resume with the configuration it was saved with"
        )
    for name, part in parts.items():
        part.restore(saved[name])


def check_fit(what: str, saved: State, ours: State) -> None:
    """Raises CheckpointError unless the saved tensors have the names and shapes of ours."""
    there, here = ({name: tuple(tensor.shape) for name, tensor in each.items()} for each in (saved, ours))
    wrong = sorted(name for name in there.keys() | here.keys() if there.get(name) != here.get(name))
    if wrong:
        name = wrong[0]
        raise CheckpointError(
            f"the saved {what} does not fit this run: {len(wrong)} tensors differ, the first is {name!r} "
            f"(saved {there.get(name, 'nothing')}, here {here.get(name, 'nothing')}); "
            "resume with the configuration it was saved with"
        )
