"""The file around the tensors: what is looked at before torch may open it.

torch reads and writes a zip archive, and checks neither its checksums nor whether the sizes inside agree. So the
archive's comment is a seal, `mario-a3c sha256 <digest of all bytes before it>`, and everything that the archive says is
checked here by code that executes nothing of it: caps first, then the digest, the directory, and the recipe of the
tensors.
"""

import hashlib
import io
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import IO, Any

_MOST_FILE_BYTES = 1 << 38
_MOST_ENTRIES = 4096
_MOST_DIRECTORY_BYTES = 1 << 20
_MOST_RECIPE_BYTES = 1 << 24
_MOST_OPERATIONS = 150_000  # some thirty for each tensor; a second of a slow machine
_CHUNK_BYTES = 1 << 20

_SEAL = b"mario-a3c sha256 "
_SEAL_BYTES = len(_SEAL) + 64
_END = struct.Struct("<4s4H2LH")  # the zip format's end of central directory
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")

_ENTRY = re.compile(r"(?P<root>[^/]+)/(data\.pkl|data/(?P<storage>\d{1,9})|version|byteorder|\.[a-z_]+(/[a-z_]+)?)")
_STORAGES = {
    "torch FloatStorage": 4,
    "torch DoubleStorage": 8,
    "torch HalfStorage": 2,
    "torch BFloat16Storage": 2,
    "torch ByteStorage": 1,
    "torch CharStorage": 1,
    "torch ShortStorage": 2,
    "torch IntStorage": 4,
    "torch LongStorage": 8,
    "torch BoolStorage": 1,
}
_ITEM_BYTES = "item bytes of a storage"


class DamagedError(Exception):
    """Why a file is no checkpoint, or no longer the one that was written."""


def seal(archive: bytes) -> bytes:
    """The archive with its digest as comment; it still is an archive that torch reads."""
    if archive[-_END.size : -_END.size + 4] != b"PK\5\6":
        raise ValueError("not a zip archive without a comment")
    body = archive[:-2] + struct.pack("<H", _SEAL_BYTES)
    return body + _SEAL + hashlib.sha256(body).hexdigest().encode()


def check_file(file: IO[bytes]) -> bool:
    """Whether the file is sealed. Raises DamagedError on anything that torch should not be given."""
    size = file.seek(0, os.SEEK_END)
    if size > _MOST_FILE_BYTES:
        raise DamagedError(f"it has {size:,} bytes, more than the {_MOST_FILE_BYTES:,} that are allowed")
    file.seek(max(0, size - _SEAL_BYTES))
    is_sealed = file.read(_SEAL_BYTES).startswith(_SEAL)
    comment_bytes = _SEAL_BYTES if is_sealed else 0
    _check_end(file, size, comment_bytes)
    if is_sealed:
        _check_seal(file, size)
    try:
        with zipfile.ZipFile(file) as archive:
            _check_recipe(*_entries(archive, size))
            if not is_sealed and (damaged := archive.testzip()) is not None:
                raise DamagedError(f"the checksum of {damaged!r} is wrong")
    except (zipfile.BadZipFile, struct.error, UnicodeDecodeError, NotImplementedError, EOFError, OSError) as error:
        raise DamagedError(f"its archive is broken: {error}") from error
    return is_sealed


def digest_of(file: IO[bytes], num_bytes: int | None = None) -> str:
    """sha256 of the whole file, or of its first bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    left = file.seek(0, os.SEEK_END) if num_bytes is None else num_bytes
    file.seek(0)
    while left > 0 and (chunk := file.read(min(left, _CHUNK_BYTES))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


def _check_end(file: IO[bytes], size: int, comment_bytes: int) -> None:
    """The archive ends where it says, and its directory is of a size that can be read at once."""
    at = size - comment_bytes - _END.size
    if at < 0:
        raise DamagedError(f"it has only {size} bytes")
    file.seek(at)
    signature, _, _, _, num_entries, directory_bytes, _, declared = _END.unpack(file.read(_END.size))
    if signature != b"PK\5\6" or declared != comment_bytes:
        raise DamagedError("it does not end like a checkpoint: truncated, or another kind of file")
    if num_entries == 0xFFFF or directory_bytes == 0xFFFFFFFF:
        num_entries, directory_bytes = _sizes_64(file, at)
    if num_entries > _MOST_ENTRIES or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise DamagedError(
            f"it declares {num_entries} entries in {directory_bytes} bytes: more than any checkpoint has"
        )


def _sizes_64(file: IO[bytes], end_at: int) -> tuple[int, int]:
    """Of archives beyond 4 GB."""
    if end_at < _LOCATOR_64.size:
        raise DamagedError("its directory cannot be found")
    file.seek(end_at - _LOCATOR_64.size)
    signature, _, record_at, _ = _LOCATOR_64.unpack(file.read(_LOCATOR_64.size))
    if signature != b"PK\6\7" or record_at > end_at - _END_64.size:
        raise DamagedError("its directory cannot be found")
    file.seek(record_at)
    record = _END_64.unpack(file.read(_END_64.size))
    return record[7], record[8]


def _check_seal(file: IO[bytes], size: int) -> None:
    file.seek(size - 64)
    declared, actual = file.read(64).decode("ascii", "replace"), digest_of(file, size - _SEAL_BYTES)
    if declared != actual:
        raise DamagedError(
            f"its bytes are not those that were written (sha256 {actual[:16]}..., not {declared[:16]}...)"
        )


def _entries(archive: zipfile.ZipFile, size: int) -> tuple[bytes, dict[str, int]]:
    """The recipe, and how many bytes each storage has. Nothing is packed, nothing overlaps, nothing is unknown."""
    storages: dict[str, int] = {}
    recipe: zipfile.ZipInfo | None = None
    end, names = 0, set()
    for entry in sorted(archive.infolist(), key=lambda each: each.header_offset):
        match = _ENTRY.fullmatch(entry.filename)
        is_plain = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
        if match is None or not is_plain or entry.flag_bits & 1 or entry.filename in names:
            raise DamagedError(f"it has an entry that no checkpoint has: {entry.filename[:80]!r}")
        if entry.header_offset < end or entry.header_offset + entry.file_size > size:
            raise DamagedError(f"its entry {entry.filename!r} overlaps others")
        end = entry.header_offset + entry.file_size
        names.add(entry.filename)
        if match["storage"] is not None:
            storages[match["storage"]] = entry.file_size
        if entry.filename == f"{match['root']}/data.pkl":
            recipe = entry
    if recipe is None or len({name.partition("/")[0] for name in names}) != 1:
        raise DamagedError("it is an archive of something else")
    if recipe.file_size > _MOST_RECIPE_BYTES:
        raise DamagedError(f"its description has {recipe.file_size:,} bytes")
    return archive.read(recipe), storages


@dataclass(frozen=True, slots=True)
class _Storage:
    num_items: int


class _Tensor:
    """Stands for one; what it is made from was checked."""


def _check_recipe(recipe: bytes, storages: Mapping[str, int]) -> None:
    """Follows the pickle with inert values: only dicts, texts, numbers, and tensors that lie within their storage."""
    try:
        result = _follow(recipe, storages)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, struct.error) as error:
        raise DamagedError(f"the description of its tensors is broken: {error}") from error
    if not isinstance(result, dict):
        raise DamagedError("it holds something other than named tensors")


_MARK = object()
_CONSTANTS: dict[bytes, Any] = {b"N": None, b"\x88": True, b"\x89": False, b")": ()}
_NUMBERS = {b"K": struct.Struct("<B"), b"M": struct.Struct("<H"), b"J": struct.Struct("<i")}
_KEEP, _RECALL = {b"q": 1, b"r": 4}, {b"h": 1, b"j": 4}  # with so many bytes for the place
_TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}
_OTHERS = b"\x80}(tcXQRsu.\x8a"  # protocol, dict, mark, tuple, global, text, storage, call, items, items, end, long


def _follow(recipe: bytes, storages: Mapping[str, int]) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    reader = io.BytesIO(recipe)
    for _ in range(_MOST_OPERATIONS):
        code = reader.read(1)
        if code in _CONSTANTS:
            stack.append(_CONSTANTS[code])
        elif code in _NUMBERS:
            stack.append(_NUMBERS[code].unpack(reader.read(_NUMBERS[code].size))[0])
        elif code in _KEEP:
            memo[int.from_bytes(reader.read(_KEEP[code]), "little")] = stack[-1]
        elif code in _RECALL:
            stack.append(memo[int.from_bytes(reader.read(_RECALL[code]), "little")])
        elif code in _TUPLES:
            stack[-_TUPLES[code] :] = [tuple(stack[-_TUPLES[code] :])]
        elif not code or code not in _OTHERS:
            raise DamagedError(f"it contains the operation {code!r}, which no checkpoint needs")
        elif code == b".":
            return stack.pop()
        else:
            _do_other(code, reader, stack, storages)
    raise DamagedError("the description of its tensors is longer than any checkpoint's")


def _do_other(code: bytes, reader: IO[bytes], stack: list[Any], storages: Mapping[str, int]) -> None:
    if code == b"\x80":
        _expect_protocol_2(reader.read(1))
    elif code == b"}":
        stack.append({})
    elif code == b"(":
        stack.append(_MARK)
    elif code == b"t":
        stack.append(tuple(_since_mark(stack)))
    elif code == b"X":
        stack.append(reader.read(int.from_bytes(reader.read(4), "little")).decode())
    elif code == b"\x8a":
        stack.append(int.from_bytes(reader.read(reader.read(1)[0]), "little", signed=True))
    elif code == b"c":
        stack.append(_known_global(b" ".join(reader.readline().rstrip(b"\n") for _ in range(2)).decode()))
    elif code == b"Q":
        stack.append(_storage(stack.pop(), storages))
    elif code == b"R":
        arguments = stack.pop()
        stack.append(_make(stack.pop(), arguments))
    else:
        items = _since_mark(stack) if code == b"u" else [stack.pop(), stack.pop()][::-1]
        _set_items(stack[-1], items)


def _expect_protocol_2(version: bytes) -> None:
    if version != b"\x02":
        raise DamagedError("its description has a version that torch does not write")


def _since_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1 - stack[::-1].index(_MARK)
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _known_global(name: str) -> Any:
    if name in _STORAGES:
        return _ITEM_BYTES, _STORAGES[name]
    if name in ("torch._utils _rebuild_tensor_v2", "collections OrderedDict"):
        return name
    raise DamagedError(f"it asks for {name.replace(' ', '.')!r}, which is refused: it may be an attack")


def _storage(description: Any, storages: Mapping[str, int]) -> _Storage:
    kind, (what, item_bytes), key, device, num_items = description
    if (kind, what, device) != ("storage", _ITEM_BYTES, "cpu") or not _is_count(num_items):
        raise DamagedError("it holds something other than plain tensors on the CPU")
    if storages[key] != num_items * item_bytes:
        raise DamagedError(f"storage {key} has {storages[key]} bytes, and {num_items * item_bytes} are declared")
    return _Storage(num_items)


def _make(function: Any, arguments: Any) -> Any:
    if function == "collections OrderedDict" and arguments == ():
        return {}
    if function != "torch._utils _rebuild_tensor_v2":
        raise DamagedError("it asks to call something that is not a tensor")
    storage, offset, shape, strides, needs_gradient, hooks = arguments
    is_plain = isinstance(storage, _Storage) and needs_gradient is False and hooks == {}
    if not is_plain or not all(map(_is_count, (offset, *shape, *strides))) or len(shape) != len(strides):
        raise DamagedError("it holds something other than plain tensors")
    last = offset + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    if prod(shape) and (last >= storage.num_items or prod(shape) > storage.num_items):
        raise DamagedError(f"a tensor of shape {shape} does not fit its storage of {storage.num_items}")
    return _Tensor()


def _set_items(target: Any, items: list[Any]) -> None:
    if not isinstance(target, dict) or not all(isinstance(key, str) for key in items[::2]):
        raise DamagedError("it holds something other than named tensors")
    if any(not isinstance(value, str | int | dict | _Tensor) for value in items[1::2]):
        raise DamagedError("it holds something other than named tensors and texts")
    target.update(zip(items[::2], items[1::2], strict=True))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
