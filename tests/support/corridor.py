"""A game of our own with the game's memory: a corridor. Right and left walk, down dies, up makes tall on the second
screen, the axe ends it."""

from pathlib import Path

from mario_a3c.exploration.task import StageTask
from mario_a3c.native.console import Console
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage
from tests.support.cartridges import make_program_cartridge

_RESET = bytes.fromhex(
    "78 D8 A2 FF 9A"  # SEI CLD LDX #FF TXS
    "A9 01 8D 70 07 85 B5"  # a game, on the screen
    "A9 03 8D 72 07 A9 08 85 0E"  # it plays, and the player obeys
    "A9 40 85 86 A9 80 85 E8"  # x 64, room $8000
    "A9 02 8D 5A 07 A9 80 8D 00 20"  # two lives, interrupts
    "4C 27 80"
)
_INTERRUPT = bytes.fromhex(
    "A9 01 8D 16 40 4A 8D 16 40 A2 08 AD 16 40 4A 26 11 CA D0 F7"  # the controller, right lowest
    "A5 11 29 01 F0 0D A5 86 18 69 04 85 86 A5 6D 69 00 85 6D"  # right: 4 pixels
    "A5 11 29 02 F0 0D A5 86 38 E9 04 85 86 A5 6D E9 00 85 6D"  # left: 4 pixels
    "A5 11 29 04 F0 04 A9 0B 85 0E"  # down: dies
    "A5 11 29 08 F0 0B A5 6D C9 01 D0 05 A9 01 8D 56 07"  # up: tall, on the second screen
    "A5 6D C9 03 D0 05 A9 02 8D 70 07 40"  # the axe
)
_INTERRUPT_AT = 0x100
ACTIONS = ("noop", "right", "left", "down")
SHORTEST = 44  # steps: 704 pixels, 16 in a step


def corridor_task(folder: Path) -> StageTask:
    program = _RESET.ljust(_INTERRUPT_AT, b"\xea") + _INTERRUPT
    path = folder / "corridor.nes"
    path.write_bytes(make_program_cartridge(program, bytes.fromhex("00 81 00 80 00 80")))
    console = Console(path, allow_unknown_rom=True)
    console.run_frame(0, 3)
    return StageTask(open_rom(path, allow_unknown=True), Stage(1, 1), console.save(), ACTIONS, 4, True)
