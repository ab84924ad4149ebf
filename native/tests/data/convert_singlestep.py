"""Packs single-step vectors of the 6502 into singlestep.bin, which cpu_test reads.

    python convert_singlestep.py FOLDER_OF_JSON singlestep.bin

A JSON file holds {"op": "a9", "cases": [[registers, memory, final registers, changed memory, bus accesses], ...]}.
The binary is those cases one after the other, little-endian, without padding:
    pc s a x y p                 initial registers, 2 + 5 bytes
    count, count * (address, value)
    pc s a x y p                 final registers
    count, count * (address, value)                  the bytes that changed
    number of bus accesses (= cycles), FNV-1a hash (32 bit) over address low, address high, value, is_write of each
"""

import json
import struct
import sys
from pathlib import Path


def fnv1a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def pack_case(case: list) -> bytes:
    before, memory, after, changed, accesses = case
    trace = b"".join(struct.pack("<HBB", *access) for access in accesses)
    return b"".join(
        [
            struct.pack("<H5B", *before),
            bytes([len(memory)]),
            *(struct.pack("<HB", *cell) for cell in memory),
            struct.pack("<H5B", *after),
            bytes([len(changed)]),
            *(struct.pack("<HB", *cell) for cell in changed),
            struct.pack("<BI", len(accesses), fnv1a(trace)),
        ]
    )


def main(folder: str, target: str) -> None:
    files = [path for path in sorted(Path(folder).glob("*.json")) if len(path.stem) == 2]
    cases = [case for path in files for case in json.loads(path.read_text())["cases"]]
    Path(target).write_bytes(b"".join(map(pack_case, cases)))
    print(f"{len(cases)} cases of {len(files)} opcodes")


if __name__ == "__main__":
    main(*sys.argv[1:])
