"""Which checkpoint a run goes on from, and why not from the others."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mario_a3c.checkpoint.names import LATEST, CheckpointNames, all_latest, all_numbered, names_in, update_in
from mario_a3c.checkpoint.sidecar import read_sidecar
from mario_a3c.checkpoint.store import Checkpoint, load_checkpoint
from mario_a3c.errors import CheckpointError
from mario_a3c.run_dir import check_run_name

LOG = logging.getLogger("mario.resume")

AUTO = "auto"
MOST_FILES_SEARCHED = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `--resume` means: the newest good checkpoint of a folder, or this one file and no other."""

    folder: Path
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    path: Path
    checkpoint: Checkpoint
    skipped: tuple[str, ...]
    """What was looked at before, each with the reason why it cannot be used."""

    @property
    def update(self) -> int:
        return int(self.checkpoint.metadata["update"])


def wanted_by(resume: str, names: CheckpointNames, save_dir: Path, run_name: str | None) -> Wanted:
    """From what was asked for to a place. Nothing is read yet."""
    if resume == LATEST:
        return Wanted(_folder_of_latest(names, save_dir, run_name))
    path = Path(resume).expanduser()
    if path.is_dir():
        return Wanted(path.resolve())
    if path.name.endswith(f"_{LATEST}.pt") and path.is_symlink():
        return Wanted(path.resolve().parent)
    if not path.is_file():
        raise CheckpointError(f"--resume {resume}: there is no {path}; {_what_there_is(save_dir)}")
    return Wanted(path.resolve().parent, path.resolve())


def choose(wanted: Wanted, run_id: str | None = None) -> Choice:
    """Raises CheckpointError, with every reason, where nothing can be used.

    The highest update that is whole and belongs to this run (`run_id`, where it is known). One file that was asked for
    by name has no substitute: another one is only suggested.
    """
    if wanted.file is not None:
        return _exactly(wanted.file, run_id)
    skipped: list[str] = []
    for path in candidates(wanted.folder):
        try:
            return Choice(path, usable(path, run_id), tuple(skipped))
        except CheckpointError as error:
            skipped.append(str(error))
    raise CheckpointError(
        f"{wanted.folder} has no checkpoint that can be used: {'; '.join(skipped) or 'there is none'}. Begin anew with "
        "--fresh, which moves what is there aside, or with another --run-name"
    )


def candidates(folder: Path) -> list[Path]:
    """Newest first, by the number in the name; for a tie the numbered one before `latest`."""
    found = [(update_in(path) or 0, 1, path) for path in all_numbered(folder)]
    for path in all_latest(folder):
        is_link_to_numbered = path.is_symlink() and update_in(path.resolve()) is not None
        if path.is_file() and not is_link_to_numbered:
            described = read_sidecar(path)
            found.append((_update_of(described) if described else 0, 0, path))
    return [path for _, _, path in sorted(found, reverse=True)]


def usable(path: Path, run_id: str | None = None) -> Checkpoint:
    """A whole checkpoint of this run under its own name, or CheckpointError."""
    folder = path.parent.resolve()
    if path.resolve().parent != folder:
        raise CheckpointError(f"{path} leads out of its folder")
    checkpoint = load_checkpoint(path)
    metadata = checkpoint.metadata
    if metadata.get("kind") != "run":
        raise CheckpointError(f"{path} holds weights only: it can be evaluated, and no run can go on from it")
    update, named = _update_of(metadata), update_in(path)
    if update <= 0 or named not in (None, update):
        raise CheckpointError(f"{path} is called update {named} and holds update {update}")
    if run_id is not None and metadata.get("run_id") not in (None, run_id):
        raise CheckpointError(f"{path} belongs to another run, {metadata.get('run')!r}")
    return checkpoint


def find_matching_checkpoint_recursive(
    root: Path, matches: Callable[[Mapping[str, Any]], bool], *, limit: int = MOST_FILES_SEARCHED
) -> Path | None:
    """The newest checkpoint below `root` whose description matches; at most `limit` files are looked at.

    Only the `.json` files are read, and the search ends at the first match: files are tried newest first.
    """
    for path in sorted(_all_below(root, limit), key=_modified_at, reverse=True):
        described = read_sidecar(path)
        if described is not None and matches(described):
            return path
    return None


def _all_below(root: Path, limit: int) -> Iterator[Path]:
    for count, path in enumerate(root.rglob("*.pt")):
        if count >= limit:
            LOG.warning("%s has more than %s checkpoints: the others are not looked at", root, f"{limit:,}")
            return
        if update_in(path) is not None and not path.is_symlink():
            yield path


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # a run that goes on removes its old ones
        return 0.0


def _exactly(path: Path, run_id: str | None) -> Choice:
    try:
        return Choice(path, usable(path, run_id), ())
    except CheckpointError as error:
        try:
            other = choose(Wanted(path.parent), run_id).path
        except CheckpointError:
            raise error from None
        raise CheckpointError(f"{error}; the newest one there that can be used is --resume {other}") from error


def _folder_of_latest(names: CheckpointNames, save_dir: Path, run_name: str | None) -> Path:
    if run_name is not None:
        folder = save_dir / check_run_name(run_name)
        if not candidates(folder):
            raise CheckpointError(f"--resume latest: {folder} has no checkpoints; {_what_there_is(save_dir)}")
        return folder
    link = names.latest(save_dir)
    if link.is_file():
        return link.resolve().parent
    runs = [path.parent for path in save_dir.glob(f"*/{names.stem}_*.pt") if names_in(path) == names]
    if not runs:
        raise CheckpointError(f"--resume latest: there is no {link}; {_what_there_is(save_dir)}")
    newest = max(runs, key=_modified_at)
    LOG.warning("%s leads nowhere: the run with the newest checkpoint is %s", link, newest)
    return newest


def _what_there_is(save_dir: Path) -> str:
    runs = sorted({path.parent.name for path in save_dir.glob("*/a3c_*.pt")})
    return f"runs with a checkpoint in {save_dir}: {', '.join(runs)}" if runs else f"{save_dir} has no runs"


def _update_of(metadata: Mapping[str, Any]) -> int:
    update = metadata.get("update")
    return update if type(update) is int else 0
