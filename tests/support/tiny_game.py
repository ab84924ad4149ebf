"""A home-made game that keeps its score where Super Mario Bros. does, so that environments can be tested without it.

Right and left walk four pixels a frame. B scores ten points, A throws back by 128 pixels as a maze does, up enters a
pipe that leads to the next room at pixel 32, down dies, select warps a world ahead. At pixel 256 of the third room the
flag is reached. The colour of the screen is where one stands. Start begins a game in the stage that the title screen's
bytes name, which is how every stage gets its start state.
"""

import re
from pathlib import Path

from tests.support.cartridges import make_program_cartridge

START_X, PIPE_X, FLAG_X, FLAG_ROOM, WALK = 40, 32, 256, 2, 4
PIPE_FRAMES, DEATH_FRAMES = 20, 30
THROWN_BACK = 128

_OPCODES = {
    ("LDA", "imm"): 0xA9, ("LDA", "abs"): 0xAD, ("STA", "abs"): 0x8D, ("LDX", "imm"): 0xA2, ("TXS", ""): 0x9A,
    ("ADC", "imm"): 0x69, ("SBC", "imm"): 0xE9, ("CLC", ""): 0x18, ("SEC", ""): 0x38, ("AND", "imm"): 0x29,
    ("CMP", "imm"): 0xC9, ("INC", "abs"): 0xEE, ("DEC", "abs"): 0xCE, ("BEQ", "rel"): 0xF0, ("BNE", "rel"): 0xD0,
    ("BCS", "rel"): 0xB0, ("JMP", "abs"): 0x4C, ("RTI", ""): 0x40, ("LSR", ""): 0x4A, ("ROL", "abs"): 0x2E,
    ("DEX", ""): 0xCA, ("SEI", ""): 0x78, ("CLD", ""): 0xD8, ("ORA", "abs"): 0x0D,
}  # fmt: skip

# Buttons are read A first, so that A is bit 7 of $11.
_SOURCE = f"""
    SEI
    CLD
    LDX #$FF
    TXS
    LDA #$80
    STA $2000
idle:
    JMP idle
nmi:
    LDA #1
    STA $4016
    LDA #0
    STA $4016
    LDX #8
read:
    LDA $4016
    LSR
    ROL $0011
    DEX
    BNE read
    LDA $0770
    BEQ title
    CMP #1
    BNE shown
    LDA $000E
    CMP #8
    BEQ walk
    CMP #3
    BEQ pipe
    CMP #11
    BEQ dying
    JMP show
shown:
    JMP show
title:
    LDA $0011
    AND #$10
    BEQ shown
    LDA #1
    STA $0770
    STA $00B5
    LDA #3
    STA $0772
    LDA #2
    STA $075A
    LDA #4
    STA $07F8
begin:
    LDA #8
    STA $000E
    LDA #$B0
    STA $00CE
    LDA #0
    STA $006D
    STA $00E7
    LDA #$90
    STA $00E8
    LDA #{START_X}
    STA $0086
    JMP show
pipe:
    DEC $0020
    BNE shown
    INC $00E7
    LDA #{PIPE_X}
    STA $0086
    LDA #0
    STA $006D
    LDA #8
    STA $000E
    JMP show
dying:
    DEC $0020
    BNE shown
    DEC $075A
    JMP begin
walk:
    LDA $0011
    AND #1
    BEQ notright
    CLC
    LDA $0086
    ADC #{WALK}
    STA $0086
    LDA $006D
    ADC #0
    STA $006D
notright:
    LDA $0011
    AND #2
    BEQ notleft
    SEC
    LDA $0086
    SBC #{WALK}
    STA $0086
    LDA $006D
    SBC #0
    STA $006D
notleft:
    LDA $0011
    AND #$80
    BEQ nota
    SEC
    LDA $0086
    SBC #{THROWN_BACK}
    STA $0086
    LDA $006D
    SBC #0
    STA $006D
nota:
    LDA $0011
    AND #$40
    BEQ notb
    LDA $07E2
    CMP #9
    BEQ notb
    INC $07E2
notb:
    LDA $0011
    AND #8
    BEQ notup
    LDA #3
    STA $000E
    LDA #{PIPE_FRAMES}
    STA $0020
notup:
    LDA $0011
    AND #4
    BEQ notdown
    LDA #11
    STA $000E
    LDA #{DEATH_FRAMES}
    STA $0020
notdown:
    LDA $0011
    AND #$20
    BEQ notselect
    INC $075F
notselect:
    LDA $00E7
    CMP #{FLAG_ROOM}
    BNE show
    LDA $006D
    CMP #1
    BNE show
    LDA #4
    STA $000E
    LDA #3
    STA $001D
    LDA #$31
    STA $0016
show:
    LDA #$3F
    STA $2006
    LDA #0
    STA $2006
    LDA $0086
    LSR
    LSR
    STA $2007
    LDA #0
    STA $2006
    STA $2006
    RTI
"""


def make_tiny_game() -> bytes:
    """The cartridge as a .nes file."""
    program, labels = assemble(_SOURCE, 0x8000)
    vectors = b"".join(address.to_bytes(2, "little") for address in (labels["nmi"], 0x8000, 0x8000))
    return make_program_cartridge(program, vectors)


def write_tiny_game(folder: Path) -> Path:
    path = folder / "tiny.nes"
    path.write_bytes(make_tiny_game())
    return path


def tiny_game_flags(folder: Path) -> list[str]:
    """Of a command that is to play it, where it was written to."""
    where = ["--rom", str(folder / "tiny.nes"), "--allow-unknown-rom", "--cache-dir", str(folder / "cache")]
    return [*where, "--engine", "interpreter"]


def assemble(source: str, origin: int) -> tuple[bytes, dict[str, int]]:
    """The few instructions and modes above; two passes, the first for the labels."""
    labels: dict[str, int] = {}
    code = b""
    for _ in range(2):
        code = b""
        for line in filter(None, map(str.strip, source.splitlines())):
            if line.endswith(":"):
                labels[line[:-1]] = origin + len(code)
            else:
                code += _instruction(line, origin + len(code), labels)
    return code, labels


def _instruction(line: str, at: int, labels: dict[str, int]) -> bytes:
    name, _, operand = line.partition(" ")
    if not operand:
        return bytes([_OPCODES[name, ""]])
    if operand.startswith("#"):
        return bytes([_OPCODES[name, "imm"], _number(operand[1:])])
    target = labels.get(operand, 0) if re.fullmatch("[a-z]+", operand) else _number(operand)
    if (name, "rel") in _OPCODES:
        offset = target - at - 2
        assert not target or -128 <= offset <= 127, f"{line} is too far"
        return bytes([_OPCODES[name, "rel"], offset & 0xFF])
    return bytes([_OPCODES[name, "abs"]]) + target.to_bytes(2, "little")


def _number(text: str) -> int:
    return int(text[1:], 16) if text.startswith("$") else int(text)
