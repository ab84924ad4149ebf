"""Configs as JSON files: written whole, read strictly."""

import dataclasses
import difflib
import json
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mario_a3c.config.paths import parse_path
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ConfigError

Config = TypeVar("Config")

_MAX_CHARACTERS = 1 << 20


def to_json(config: Any) -> str:
    """The text that `from_json` turns into an equal config."""
    plain = msgspec.to_builtins(config, enc_hook=_encode)
    return json.dumps(plain, indent=2) + "\n"


def from_json(config_class: type[Config], text: str, base: Config | None = None) -> Config:
    """Raises ConfigError on anything that is not a value of a known option.

    Options left out are those of `base`, or keep their defaults.
    """
    try:
        plain = json.loads(text, object_pairs_hook=_without_duplicates)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not valid JSON: {error}") from error
    unknown = list(_unknown_keys(config_class, plain))
    if unknown:
        raise ConfigError("; ".join(unknown))
    if base is not None:
        plain = _merged(msgspec.to_builtins(base, enc_hook=_encode), plain)
    try:
        return msgspec.convert(plain, config_class, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error).replace("$.", "")) from error


def read_config(config_class: type[Config], path: Path, base: Config | None = None) -> Config:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MAX_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {path} cannot be read: {error}") from error
    if len(text) > _MAX_CHARACTERS:
        raise ConfigError(f"--config {path} has more than {_MAX_CHARACTERS} characters, too many for a config")
    try:
        return from_json(config_class, text, base)
    except ConfigError as error:
        raise ConfigError(f"--config {path}: {error}; `--config-out FILE` writes one with every option") from error


def write_config(config: Any, path: Path) -> None:
    write_durably(path, to_json(config).encode())


def _unknown_keys(config_class: type[Any], plain: Any, prefix: str = "") -> Iterator[str]:
    if not isinstance(plain, Mapping):
        return  # a wrong type, which the conversion names better
    types = typing.get_type_hints(config_class)
    for key, value in plain.items():
        if key not in types:
            near = difflib.get_close_matches(str(key), types, n=1, cutoff=0.4)
            meant = f"perhaps {prefix + near[0]!r} is meant" if near else f"known here: {', '.join(types)}"
            yield f"unknown key {prefix + key!r}, {meant}"
        elif dataclasses.is_dataclass(types[key]) and isinstance(types[key], type):
            yield from _unknown_keys(types[key], value, f"{prefix}{key}.")


def _merged(base: Any, plain: Any) -> Any:
    if not (isinstance(base, Mapping) and isinstance(plain, Mapping)):
        return plain
    return {**base, **{key: _merged(base.get(key), value) for key, value in plain.items()}}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        names = [name for name, _ in pairs]
        raise ConfigError(f"key given twice: {next(name for name in names if names.count(name) > 1)!r}")
    return plain


def _encode(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"a config cannot hold a {type(value).__name__}")


def _decode(expected: type[Any], value: Any) -> Any:
    if expected is Path and isinstance(value, str):
        return parse_path(value)
    raise ValueError(f"Expected a {expected.__name__.lower()}, got {value!r}")
