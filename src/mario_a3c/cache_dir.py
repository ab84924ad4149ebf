"""The one folder for everything that can be made again: ROMs taken from packages, probes, compiled code.

<cache>/
  roms/     cartridges, known by their hash, whatever their name
  probes/   what was found out about this machine
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
}
# A convention of backup programs (bford.info/cachedir): folders with this file are left out.
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
        """Makes the folder, readable by its owner alone, and refuses one that others may write to."""
        root = (config.cache_dir or default_cache_root()).expanduser().absolute()
        try:
            is_new = not root.exists()
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = root.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise ConfigError(
                    f"everybody may write to the cache folder {root}; `chmod o-w` it, or give --cache-dir"
                )
            if is_new:
                (root / "CACHEDIR.TAG").write_text(_TAG)
        except OSError as error:
            raise StorageError(
                f"cannot use the cache folder {root}: {error.strerror or error}; choose another with --cache-dir"
            ) from error
        return cls(root)

    def folder(self, kind: str) -> Path:
        """The sub-folder for one kind of things, made at first use."""
        path = self._path(kind)
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot make {path}: {error.strerror or error}; choose another --cache-dir") from error
        return path

    def entries(self) -> Iterator[CacheEntry]:
        for kind in KINDS:
            files = [path for path in self._path(kind).rglob("*") if path.is_file()]
            yield CacheEntry(kind, len(files), sum(path.stat().st_size for path in files))

    def clear(self, kind: str) -> None:
        """Removes everything of one kind, and nothing else that lies in the folder."""
        path = self._path(kind)
        if path.exists():
            shutil.rmtree(path)

    def _path(self, kind: str) -> Path:
        if kind not in KINDS:
            raise ValueError(f"unknown kind of cache {kind!r}; known: {', '.join(KINDS)}")
        return self.root / kind


def default_cache_root() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mario-a3c"
    # The XDG specification: a relative or empty value counts as unset.
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "mario-a3c"
