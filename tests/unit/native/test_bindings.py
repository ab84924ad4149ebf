"""`mario_native.h` and its ctypes declarations say the same, compared word by word."""

import ctypes
import re
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.native.bindings import ABI_VERSION, RECORDS, SIGNATURES, EndReason, Goal, Observed, Status

POINTERS = (ctypes.c_void_p, ctypes.c_char_p)
TYPES = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
    "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "void": None,
}


@pytest.fixture(scope="module")
def header() -> str:
    text = (Path(__file__).resolve().parents[3] / "native" / "include" / "mario_native.h").read_text()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def declared_functions(header: str) -> dict[str, tuple[str, list[str]]]:
    """Name to result type and argument types, as written."""
    found = {}
    for result, name, arguments in re.findall(r"MARIO_API\s+([\w\s*]+?)\s*\b(\w+)\(([^)]*)\)", header):
        types = [re.sub(r"\s*\b\w+$", "", each.strip()) for each in arguments.split(",") if each.strip() != "void"]
        found[name] = (result.strip(), types)
    return found


def declared_record(header: str, name: str) -> list[tuple[str, str]]:
    """Field names and types of a struct, in order."""
    match = re.search(rf"typedef struct {name} \{{(.*?)\}}", header, re.DOTALL)
    assert match is not None, name
    fields = re.findall(r"(\w+)\s+([\w\s,]+);", match[1])
    return [(field.strip(), kind) for kind, names in fields for field in names.split(",")]


def is_same_type(written: str, bound: Any) -> bool:
    if "*" in written:
        return bound in POINTERS or issubclass(bound, ctypes._Pointer)
    return TYPES[written.removeprefix("const ")] is bound


def test_every_function_is_bound_with_its_own_types(header: str) -> None:
    functions = declared_functions(header)
    assert functions.keys() == SIGNATURES.keys()
    for name, (result, arguments) in functions.items():
        bound_result, bound_arguments = SIGNATURES[name]
        assert is_same_type(result, bound_result), f"{name}: {result}"
        assert len(arguments) == len(bound_arguments), name
        for written, bound in zip(arguments, bound_arguments, strict=True):
            assert is_same_type(written, bound), f"{name}: {written} is bound as {bound}"


def test_every_record_has_the_same_fields_in_the_same_order(header: str) -> None:
    records = {name.removesuffix("_bytes"): record for name, record in RECORDS.items()}
    sizes = {name for name in declared_functions(header) if name.endswith("_bytes")} - {
        "mario_state_bytes",
        "mario_envs_state_bytes",
    }
    assert sizes == RECORDS.keys()
    for name, record in records.items():
        fields = [(field, kind) for field, kind in declared_record(header, name)]
        bound = [(field, kind) for field, kind, *_ in record._fields_]
        assert [field for field, _ in fields] == [field for field, _ in bound], name
        for (field, written), (_, kind) in zip(fields, bound, strict=True):
            expected = records[written] if written in records else TYPES[written]
            assert kind is expected, f"{name}.{field}"


def test_version_and_status_codes_are_the_header_s(header: str) -> None:
    assert re.findall(r"#define MARIO_ABI_VERSION (\d+)", header) == [str(ABI_VERSION)]
    codes = {name: int(value) for name, value in re.findall(r"MARIO_(\w+) = (\d+)", header)}
    ends = {f"END_{reason.name}": reason.value for reason in EndReason}
    goals = {f"GOAL_{goal.name}": goal.value for goal in Goal}
    observed = {f"OBSERVE_{each.name}": each.value for each in Observed}
    assert codes == {**{status.name: status.value for status in Status}, **ends, **goals, **observed}
