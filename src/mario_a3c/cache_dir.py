"""The one folder for everything that can be made again: ROMs taken from packages, probes, compiled code.

<cache>/
  roms/          cartridges, known by their hash, whatever their name
  probes/        what was found out about this machine
  start_states/  where every stage begins, by ROM and console
  engines/       programs of cartridges, compiled for this machine
  exploration/   what searches of stages have reached, and maps made from it
  kernels/       networks, compiled by torch for this machine
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.errors import ConfigError, StorageError
from mario_a3c.options import option

KINDS = {
    "roms": "cartridges; a file that you put here is found, too",
    "probes": "what was found out about this machine",
    "start_states": "where every stage begins; made from the cartridge",
    "engines": "programs of cartridges, compiled for this machine",
    "exploration": "what searches of stages have reached, and maps made from it",
    "kernels": "networks, compiled by torch for this machine",
}
# A convention of backup programs (bford.info/cachedir): folders with this file are left out.
_TAG_NAME = "CACHEDIR.TAG"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# made by mario-a3c; everything here can be made again\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheConfig:
    """Where things are kept that can be made again."""

    cache_dir: Path | None = option(None, "cache folder; by default the user's cache folder of this system")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What one kind of cached things takes."""

    kind: str
    num_files: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class CacheDir:
    root: Path

    @classmethod
    def open(cls, config: CacheConfig) -> "CacheDir":
        """Makes the folder, for its owner alone, or takes one that is there and that nobody else may write to."""
        root = (config.cache_dir or default_cache_root()).absolute()
        _make_private(root)
        try:
            if not any(root.iterdir()):
                (root / _TAG_NAME).write_text(_TAG)
        except OSError as error:
            raise StorageError(
                f"cannot use the cache folder {root}: {error.strerror or error}; choose another with --cache-dir"
            ) from error
        return cls(root)

    def folder(self, kind: str) -> Path:
        """The sub-folder for one kind of things, made at first use."""
        path = self._path(kind)
        _make_private(path)
        return path

    def entries(self) -> Iterator[CacheEntry]:
        for kind in KINDS:
            files = [path for path in self._path(kind).rglob("*") if path.is_file()]
            yield CacheEntry(kind, len(files), sum(path.stat().st_size for path in files))

    def clear(self, kind: str) -> None:
        """Removes everything of one kind, and nothing else that lies in the folder."""
        if not (self.root / _TAG_NAME).is_file():
            raise ConfigError(f"{self.root} was not made by this program ({_TAG_NAME} is missing): nothing is removed")
        path = self._path(kind)
        try:
            if path.exists():
                shutil.rmtree(path)
        except OSError as error:
            raise StorageError(f"cannot clear {path}: {error.strerror or error}; remove it by hand") from error

    def _path(self, kind: str) -> Path:
        if kind not in KINDS:
            raise ValueError(f"unknown kind of cache {kind!r}; known: {', '.join(KINDS)}")
        return self.root / kind


def _make_private(folder: Path) -> None:
    """Makes a folder, and refuses one that others could put things into: code is loaded from here."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise StorageError(
            f"cannot use the cache folder {folder}: {error.strerror or error}; choose another with --cache-dir"
        ) from error
    if status.st_uid not in (os.geteuid(), 0):
        raise ConfigError(f"the cache folder {folder} belongs to somebody else; choose another with --cache-dir")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(f"others may write to the cache folder {folder}; `chmod go-w` it, or give --cache-dir")


def default_cache_root() -> Path:
    # The XDG specification: a relative or empty value counts as unset.
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if sys.platform != "darwin" and configured.is_absolute():
        return configured / "mario-a3c"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise ConfigError(f"{error} to put the cache there; give --cache-dir") from error
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "mario-a3c"
