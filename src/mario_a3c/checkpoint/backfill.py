"""Descriptions of old checkpoints that count no steps though updates were made: reconstructed, and said to be.

`global_step = global_update * num_envs * rollout_steps`. Files that know better are left alone; no count is lowered.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from mario_a3c.checkpoint.names import names_in, update_in
from mario_a3c.checkpoint.sidecar import read_object, sidecar_of
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import CheckpointError, ConfigError

FORMULA = "global_update * num_envs * rollout_steps"
DEFAULT_ROLLOUT_STEPS = 64

Kind = Literal["unchanged", "reconstructed", "rebuilt", "unclear"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, or would be, with one `.json` file."""

    path: Path
    kind: Kind
    message: str

    @property
    def is_change(self) -> bool:
        return self.kind in ("reconstructed", "rebuilt")


def backfill(
    paths: Sequence[Path], *, assume_rollout_steps: int = DEFAULT_ROLLOUT_STEPS, is_dry_run: bool = False
) -> Iterator[Outcome]:
    """Mends the descriptions of these checkpoints, or of all in these folders and below; again, it changes nothing."""
    if assume_rollout_steps < 1:
        raise ConfigError(f"--assume-rollout-steps must be at least 1, got {assume_rollout_steps}")
    for path in paths:
        if not path.exists():
            raise CheckpointError(f"there is no {path}")
        for sidecar in _sidecars(path):
            if sidecar.exists():
                yield _mend(sidecar, assume_rollout_steps, is_dry_run)
            else:
                yield _rebuild(sidecar.with_suffix(".pt"), assume_rollout_steps, is_dry_run)


def _sidecars(path: Path) -> list[Path]:
    """Of every checkpoint, whether it is there or not; links lead to files that are looked at anyway."""
    if path.is_file():
        return [sidecar_of(path)]
    found = {sidecar_of(each) for each in path.rglob("a3c_*") if each.suffix in (".pt", ".json") and _is_own(each)}
    return sorted(found)


def _is_own(path: Path) -> bool:
    return names_in(path.with_suffix(".pt")) is not None and path.is_file() and not path.is_symlink()


def _mend(sidecar: Path, assumed: int, is_dry_run: bool) -> Outcome:
    try:
        original, metadata = sidecar.read_bytes(), read_object(sidecar)
    except (OSError, ValueError) as error:
        return Outcome(sidecar, "unclear", f"cannot be read: {error}")
    step: Any = metadata.get("global_step")
    update = _update(metadata, sidecar)
    if _is_count(step) and step > 0:
        return Outcome(sidecar, "unchanged", f"has step {step:,}")
    if step not in (0, None):
        return Outcome(sidecar, "unclear", f"its global_step is {step!r}")
    if update is None:
        return Outcome(sidecar, "unclear", "does not say how many updates were made")
    if update == 0:
        return Outcome(sidecar, "unchanged", "no update was made")
    num_envs = _find(metadata, "num_envs", "vector_env")
    if num_envs is None:
        return Outcome(sidecar, "unclear", "does not say how many environments there were")
    mended = {**metadata, **_reconstruction(metadata, update, num_envs, assumed)}
    if not is_dry_run:
        _write_with_backup(sidecar, original, mended)
    return Outcome(sidecar, "reconstructed", f"step {step} -> {mended['global_step']:,} = {_product(mended)}")


def _reconstruction(metadata: Mapping[str, Any], update: int, num_envs: int, assumed: int) -> dict[str, Any]:
    recorded = _find(metadata, "rollout_steps", "collector")
    rollout_steps = assumed if recorded is None else recorded
    return {
        "global_step": update * num_envs * rollout_steps,
        "reconstructed_step_source": "rebuild",
        "reconstructed_step_details": {
            "formula": FORMULA,
            "global_update": update,
            "num_envs": num_envs,
            "rollout_steps": rollout_steps,
            "rollout_steps_source": "assumed" if recorded is None else "recorded",
            "previous_global_step": metadata.get("global_step"),
            "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        },
    }


def _write_with_backup(sidecar: Path, original: bytes, mended: Mapping[str, Any]) -> None:
    """The first backup is the original for ever: a second run must not replace it by what the first one made."""
    backup = sidecar.with_name(sidecar.name + ".bak")
    if not backup.exists():
        write_durably(backup, original)
    write_durably(sidecar, (json.dumps(mended, indent=2, ensure_ascii=False) + "\n").encode())


def _rebuild(checkpoint: Path, assumed: int, is_dry_run: bool) -> Outcome:
    """A checkpoint without a description gets one: from its contents, or else from its name and its neighbours."""
    from mario_a3c.checkpoint.store import rebuild_sidecar  # torch takes seconds, and is seldom needed here

    sidecar = sidecar_of(checkpoint)
    try:
        if not is_dry_run:
            rebuild_sidecar(checkpoint)
        return Outcome(sidecar, "rebuilt", "was missing; from the checkpoint")
    except CheckpointError as error:
        names, update = names_in(checkpoint), update_in(checkpoint)
        if names is None or update is None:
            return Outcome(sidecar, "unclear", f"is missing, and the checkpoint does not help: {error}")
        named: dict[str, Any] = {"world": names.world, "stage": names.stage, "global_update": update}
    num_envs = _num_envs_of_neighbours(checkpoint)
    if num_envs is not None:
        named |= {"num_envs": num_envs, **_reconstruction(named, update, num_envs, assumed)}
    if not is_dry_run:
        write_durably(sidecar, (json.dumps({**named, "reconstructed_from": "file name"}, indent=2) + "\n").encode())
    return Outcome(sidecar, "rebuilt", "was missing, and the checkpoint cannot be read; from its name")


def _num_envs_of_neighbours(checkpoint: Path) -> int | None:
    """What other checkpoints of the folder say, if they agree."""
    found = set()
    for path in checkpoint.parent.glob("a3c_*.json"):
        with suppress(OSError, ValueError):
            found.add(_find(read_object(path), "num_envs", "vector_env"))
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _update(metadata: Mapping[str, Any], sidecar: Path) -> int | None:
    for name in ("global_update", "update"):
        if _is_count(metadata.get(name)):
            return int(metadata[name])
    return update_in(sidecar.with_suffix(".pt"))


def _find(metadata: Mapping[str, Any], name: str, section: str) -> int | None:
    """At the top, in a flat config, or in its section of ours."""
    config = metadata.get("config")
    places: list[Any] = [metadata, config, config.get(section) if isinstance(config, Mapping) else None]
    for place in places:
        if isinstance(place, Mapping) and _is_count(place.get(name)) and place[name] > 0:
            return int(place[name])
    return None


def _product(mended: Mapping[str, Any]) -> str:
    details = mended["reconstructed_step_details"]
    return (
        f"{details['global_update']:,} updates x {details['num_envs']} environments x "
        f"{details['rollout_steps']} steps ({details['rollout_steps_source']})"
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
