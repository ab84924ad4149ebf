"""Whole files or none: what is written here is complete after a crash, or the old file is still there."""

import contextlib
import os
import tempfile
from pathlib import Path

from mario_a3c.errors import StorageError


def write_durably(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replaces `path` by `content`: temporary file beside it, fsync, rename, fsync of the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content, mode)
        _sync_folder(path.parent)
    except OSError as error:
        raise StorageError(
            f"cannot write {path} ({len(content)} bytes): {error.strerror or error}; "
            "free some space, mend the permissions or choose another place"
        ) from error


def _replace(path: Path, content: bytes, mode: int) -> None:
    # The leading dot and the suffix keep half-written files out of every pattern that looks for whole ones.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
