"""Whole files or none: what is written here is complete after a crash, or the old file is still there."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from mario_a3c.errors import StorageError


def write_durably(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replaces `path` by `content`: temporary file beside it, fsync, rename, fsync of the folder.

    A link is followed. A file that is replaced keeps its permissions; a new one gets `mode` less the umask.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            raise StorageError(f"cannot write {path}: it exists and is not a file; choose another place")
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content, mode)
        _sync_folder(target.parent)
    except OSError as error:
        raise StorageError(
            f"cannot write {path} ({len(content)} bytes): {error.strerror or error}; "
            "free some space, mend the permissions or choose another place"
        ) from error


def _replace(path: Path, content: bytes, mode: int) -> None:
    # The leading dot and the suffix keep half-written files out of every pattern that looks for whole ones.
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
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
