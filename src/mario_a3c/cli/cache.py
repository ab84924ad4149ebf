"""`mario cache list|clear`: what is kept, and how to be rid of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mario_a3c.cache_dir import KINDS, CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.options import option, section

# A user may have put a dump of their own there, so it is cleared only by name.
_KEPT_BY_DEFAULT = "roms"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """List or clear what is kept in the cache folder."""

    action: Literal["list", "clear"] = option("list", "what to do", positional=True)
    kind: str | None = option(
        None,
        f"what to clear: {', '.join(KINDS)}; without it everything but {_KEPT_BY_DEFAULT}",
        positional=True,
    )
    cache: CacheConfig = section(CacheConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario cache")
    if arguments.kind is not None and (arguments.action == "list" or arguments.kind not in KINDS):
        raise ConfigError(f"mario cache clear takes one of {', '.join(KINDS)}, got {arguments.kind!r}")
    cache = CacheDir.open(arguments.cache)
    if arguments.action == "clear":
        kinds = [arguments.kind] if arguments.kind else [kind for kind in KINDS if kind != _KEPT_BY_DEFAULT]
        for kind in kinds:
            cache.clear(kind)
    print_entries(cache)
    return ExitCode.DONE


def print_entries(cache: CacheDir) -> None:
    print(cache.root)
    for entry in cache.entries():
        print(f"  {entry.kind:<12} {entry.num_files:>5} files {entry.num_bytes / 1e6:>9.2f} MB   {KINDS[entry.kind]}")
