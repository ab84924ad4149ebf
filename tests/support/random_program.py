"""Programs that no one would write: random instructions, official or not, all over the address space."""

import random

from tests.support.cartridges import make_program_cartridge

_JAMS = {0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2}
_JMP, _JMP_INDIRECT, _JSR = 0x4C, 0x6C, 0x20
_CODE = 0x8100
_JUMP_ENGINE = 0x8080
# Takes its return address and jumps through the table behind the call: the entry that A & 1 says.
_JUMP_ENGINE_CODE = bytes.fromhex(
    "29 01 0A A8 68 85 F4 68 85 F5 C8 B1 F4 85 F6 C8 B1 F4 85 F7 6C F6 00"  # as this family of games has it
)


def make_random_program(seed: int, num_instructions: int) -> bytes:
    """A cartridge that switches picture and interrupts on and then runs nonsense, in interrupts as well."""
    rng = random.Random(seed)
    opcodes = [rng.choice([each for each in range(256) if each not in _JAMS]) for _ in range(num_instructions)]
    # Rare by nature, and what ends most blocks.
    for index in range(0, num_instructions, 9):
        opcodes[index] = rng.choice((_JSR, _JMP, 0x60, 0xAD, 0x2C, 0x8D, 0xD0, 0x90, 0xB1, 0x91, 0xBD, 0x9D))
    starts, at = [], _CODE
    for opcode in opcodes:
        starts.append(at)
        at += length_of(opcode) + (4 if opcode == _JMP else 0)
    code = bytearray()
    for opcode, start in zip(opcodes, starts, strict=True):
        code += _instruction(rng, opcode, start, starts)
    boot = bytes.fromhex("78 D8 A2 FF 9A A9 1E 8D 01 20 A9 90 8D 00 20")
    boot += bytes([_JMP, _CODE & 0xFF, _CODE >> 8])
    program = boot.ljust(_JUMP_ENGINE - 0x8000, b"\xea") + _JUMP_ENGINE_CODE
    program = program.ljust(_CODE - 0x8000, b"\xea") + code + bytes([_JMP, _CODE & 0xFF, _CODE >> 8])
    nmi, irq = rng.choice(starts), rng.choice(starts)
    vectors = b"".join(each.to_bytes(2, "little") for each in (nmi, 0x8000, irq))
    return make_program_cartridge(program, vectors, fill=0x40)


def length_of(opcode: int) -> int:
    if opcode in (0x00, 0xA2, 0x82, 0xC2, 0xE2):
        return 2
    if opcode == _JSR:
        return 3
    if opcode in (0x40, 0x60):
        return 1
    low = opcode & 0x1F
    if low in (0x08, 0x0A, 0x18, 0x1A):
        return 1
    return 3 if low in (0x0C, 0x0D, 0x0E, 0x0F, 0x19, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F) else 2


def _instruction(rng: random.Random, opcode: int, start: int, starts: list[int]) -> bytes:
    length = length_of(opcode)
    if opcode == _JMP:  # through the jump engine: a call, and a table of two
        table = b"".join(rng.choice(starts).to_bytes(2, "little") for _ in range(2))
        return bytes([_JSR, _JUMP_ENGINE & 0xFF, _JUMP_ENGINE >> 8]) + table
    if opcode == _JSR:
        return bytes([opcode]) + rng.choice(starts).to_bytes(2, "little")
    if opcode & 0x1F == 0x10:
        near = [each - start - 2 for each in starts if -128 <= each - start - 2 <= 127]
        return bytes([opcode, rng.choice(near) & 0xFF])
    if length == 3:
        return bytes([opcode]) + _address(rng).to_bytes(2, "little")
    return bytes([opcode, *(rng.randrange(256) for _ in range(length - 1))])


def _address(rng: random.Random) -> int:
    """Mostly RAM, often registers, and the edges between the two, where an index crosses over."""
    ways = (
        lambda: rng.randrange(0x800),
        lambda: rng.randrange(0x800),
        lambda: rng.randrange(0x2000),
        lambda: 0x2002,
        lambda: 0x2000 + rng.randrange(8),
        lambda: 0x4000 + rng.randrange(0x18),
        lambda: rng.choice((0x1FFE, 0x1F80, 0x20FF, 0x3FF8, 0x40F0, 0x6000, 0x7FF0, 0xFF80, 0xFFF0)),
        lambda: 0x8000 + rng.randrange(0x8000),
    )
    return rng.choice(ways)()
