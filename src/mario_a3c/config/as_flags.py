"""A config as the flags that lead to it."""

import dataclasses
from collections.abc import Collection
from typing import Any

from mario_a3c.options import flag_of, is_option, is_positional


def as_flags(config: Any, base: Any, *, without: Collection[str] = ()) -> list[str]:
    """What to write to get from `base` to `config`; sections named in `without` are left out."""
    words: list[str] = []
    for field in dataclasses.fields(config):
        value, before = getattr(config, field.name), getattr(base, field.name)
        if field.name in without or value == before or is_positional(field):
            continue
        if not is_option(field):
            words += as_flags(value, before, without=without)
        elif isinstance(value, bool):
            flag = flag_of(field)
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            many = value if isinstance(value, tuple) else (value,)
            words += [flag_of(field), *map(str, many)]
    return words
