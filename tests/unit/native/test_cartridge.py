from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mario_a3c.errors import RomError
from mario_a3c.native.cartridge import parse_cartridge, read_cartridge
from tests.support.cartridges import make_cartridge, sha1_of


def test_a_cartridge_is_described() -> None:
    file = make_cartridge(prg_units=1, chr_units=0, flags=b"\x00")
    cartridge = parse_cartridge(file)
    assert (cartridge.prg_rom_bytes, cartridge.chr_rom_bytes, cartridge.prg_ram_bytes) == (16384, 0, 8192)
    assert not cartridge.has_vertical_mirroring
    assert cartridge.sha1 == sha1_of(file)
    assert "\\xea" not in repr(cartridge), "the bytes of the game belong in no log"


def test_a_truncated_file_is_refused_with_both_sizes(tmp_path: Path) -> None:
    path = tmp_path / "short.nes"
    path.write_bytes(make_cartridge()[:20_000])
    with pytest.raises(RomError, match=r"short\.nes cannot be played: .* promises 40976 bytes, the file has 20000"):
        read_cartridge(path)


@pytest.mark.parametrize("name", ["missing.nes", "."])
def test_a_path_that_is_no_readable_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RomError, match="cannot read the ROM"):
        read_cartridge(tmp_path / name)


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(RomError, match="more than any cartridge"):
        read_cartridge(Path("/dev/zero"))


@given(st.binary(max_size=64))
def test_junk_is_refused_and_never_crashes(content: bytes) -> None:
    with pytest.raises(RomError):
        parse_cartridge(b"NES\x1a" + content)
