"""From config classes to a command line: one flat flag per option, one group per component."""

import dataclasses
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from mario_a3c.config.paths import parse_path
from mario_a3c.options import alias_of, flag_of, help_of, is_option, is_positional, own_fields_first

Arguments = TypeVar("Arguments")


def parse_command(
    arguments_class: type[Arguments],
    argv: Sequence[str],
    *,
    prog: str,
    default: Arguments | None = None,
) -> Arguments:
    """Parses flags into `arguments_class`; what is not given comes from `default`.

    Wrong flags and values are answered on stderr and end the program with exit code 2, as `--help` does with 0.
    """
    return tyro.cli(
        arguments_class,
        args=list(argv),
        prog=prog,
        description=arguments_class.__doc__,
        default=arguments_class() if default is None else default,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.HelptextFromCommentsOff),
        registry=_registry,
    )


_registry = ConstructorRegistry()


@_registry.primitive_rule
def _paths(info: PrimitiveTypeInfo) -> "PrimitiveConstructorSpec[Path] | None":
    if info.type is not Path:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="PATH",
        instance_from_str=lambda words: parse_path(words[0]),
        is_instance=lambda value: isinstance(value, Path),
        str_from_instance=lambda path: [str(path)],
    )


@_registry.struct_rule
def _fields_from_options(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Tells tyro what `option()` declared: help, documented flag names, positional arguments."""
    if not (isinstance(info.type, type) and dataclasses.is_dataclass(info.type)):
        return None
    types = typing.get_type_hints(info.type, include_extras=True)
    fields = (
        StructFieldSpec(
            name=field.name,
            type=_with_flag(field, types[field.name]),
            default=getattr(info.default, field.name),
        )
        for field in own_fields_first(info.type)
    )
    return StructConstructorSpec(instantiate=info.type, fields=tuple(fields))


def _with_flag(field: "dataclasses.Field[Any]", annotation: Any) -> Any:
    if not is_option(field):
        # A section's fields carry the flags. One that only gathers sections would add its name to their headings.
        return Annotated[annotation, tyro.conf.arg(name="")] if _only_gathers(annotation) else annotation
    name = flag_of(field).removeprefix("--")
    aliases = [alias] if (alias := alias_of(field)) else None
    annotated: Any = Annotated[annotation, tyro.conf.arg(name=name, help=help_of(field), aliases=aliases)]
    positional: Any = tyro.conf.Positional
    return positional[annotated] if is_positional(field) else annotated


def _only_gathers(config_class: type[Any]) -> bool:
    return not any(is_option(field) for field in dataclasses.fields(config_class))
