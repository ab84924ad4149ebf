"""Level pictures of what is no level. The pictures themselves are tested with the game."""

from pathlib import Path

import pytest

from mario_a3c.errors import RomError
from mario_a3c.native import Console, level_pictures
from tests.support.cartridges import make_program_cartridge


def test_a_program_without_levels_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "program.nes"
    path.write_bytes(make_program_cartridge())
    console = Console(path, allow_unknown_rom=True)
    with pytest.raises(RomError, match=r"has no end; is .*program.nes Super Mario Bros"):
        level_pictures(console, console.save())


def test_an_area_that_never_loads_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "program.nes"
    path.write_bytes(make_program_cartridge(fill=0xFD))  # every byte says that an area ends
    console = Console(path, allow_unknown_rom=True)
    console.ram[0x0770] = 1
    console.ram[0x0730:0x0733] = 0xFF
    console.ram[0xE8] = 0x90
    with pytest.raises(RomError, match=r"area \$00 cannot be entered"):
        level_pictures(console, console.save())
