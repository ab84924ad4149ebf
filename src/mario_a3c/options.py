"""How a config declares its options: a value, a sentence, and the flag it goes by.

    @dataclass(frozen=True, kw_only=True, slots=True)
    class ReplayConfig:
        capacity: int = option(4096, "sequences kept; the oldest is overwritten")

The command line, the JSON file, the reference page and the checkpoint metadata are all made from these fields.
"""

from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

Config = TypeVar("Config")


def option(
    default: Any, help: str, *, flag: str | None = None, alias: str | None = None, positional: bool = False
) -> Any:
    """A field with its default and help.

    `flag` is for documented names that differ from the field's: `flag="--per-alpha"`; `alias` is a second, short one:
    `alias="-q"`. A positional option is given without a flag.
    """
    if flag is not None and not flag.startswith("--"):
        raise ValueError(f"a flag begins with two hyphens, got {flag!r}")
    metadata: Mapping[str, Any] = {"help": help, "flag": flag, "alias": alias, "positional": positional}
    return field(default=default, metadata=metadata)


def section(config_class: type[Config]) -> Config:
    """A field that holds another component's config, with that config's own defaults."""
    nested: Config = field(default_factory=config_class)
    return nested


def own_fields_first(config_class: type) -> "list[Field[Any]]":
    """In the order in which a user reads them: what a command shares with others, in a base class, comes last."""
    by_class = [getattr(each, "__annotations__", {}) for each in config_class.__mro__]

    def generation(config_field: "Field[Any]") -> int:
        return next(number for number, names in enumerate(by_class) if config_field.name in names)

    return sorted(fields(config_class), key=generation)


def is_option(config_field: "Field[Any]") -> bool:
    """Whether a field is an option; the others are sections."""
    return "help" in config_field.metadata


def flag_of(option_field: "Field[Any]") -> str:
    """The flag under which a user sets this field: its documented name, else made from the field's name."""
    documented: str | None = option_field.metadata.get("flag")
    return documented or "--" + option_field.name.replace("_", "-")


def alias_of(option_field: "Field[Any]") -> str | None:
    alias: str | None = option_field.metadata.get("alias")
    return alias


def help_of(option_field: "Field[Any]") -> str:
    text: str = option_field.metadata["help"]
    return text


def is_positional(option_field: "Field[Any]") -> bool:
    return bool(option_field.metadata.get("positional", False))
