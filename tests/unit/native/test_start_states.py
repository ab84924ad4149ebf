"""Start states: made, kept, checked and made again. The game is a program of ours that is under control at once."""

import hashlib
import logging
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import RomError
from mario_a3c.native import Console
from mario_a3c.native import start_states as module
from mario_a3c.native.rom import Rom, open_rom
from mario_a3c.native.start_states import Stage, stages_of, start_states
from tests.support.cartridges import make_program_cartridge

# Interrupts, and waits. The interrupt says what the game says while the player has control: LDA #1 STA $0770 STA $B5,
# LDA #3 STA $0772, LDA #8 STA $0E, RTI.
ALWAYS_PLAYING = bytes.fromhex(
    "78 D8 A2 FF 9A A9 80 8D 00 20 4C 0A 80 A9 01 8D 70 07 85 B5 A9 03 8D 72 07 A9 08 85 0E 40"
)


@pytest.fixture
def rom(tmp_path: Path) -> Rom:
    path = tmp_path / "playing.nes"
    path.write_bytes(make_program_cartridge(ALWAYS_PLAYING))
    return open_rom(path, allow_unknown=True)


@pytest.mark.parametrize(("text", "stage"), [("1-1", Stage(1, 1)), ("8-4", Stage(8, 4)), (" 4-2 ", Stage(4, 2))])
def test_a_stage_is_written_as_the_game_shows_it(text: str, stage: Stage) -> None:
    assert Stage.parse(text) == stage
    assert str(stage) == text.strip()


@pytest.mark.parametrize("text", ["", "1", "1-", "0-1", "1-0", "1-5", "99-1", "1-1-1", "a-b", "1_1"])
def test_what_is_no_stage_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"stage"):
        Stage.parse(text)


def test_stages_come_in_order() -> None:
    assert sorted([Stage(2, 1), Stage(1, 4), Stage(1, 2)]) == [Stage(1, 2), Stage(1, 4), Stage(2, 1)]


def test_every_stage_gets_its_own_state(rom: Rom, cache: CacheDir) -> None:
    states = start_states(rom, cache)
    assert list(states) == stages_of(rom)
    assert [str(stage) for stage in states][:5] == ["1-1", "1-2", "1-3", "1-4", "2-1"]
    console = Console(rom.path, allow_unknown_rom=True)
    for stage, state in states.items():
        console.load(state)
        game = console.game()
        assert (game.world, game.stage, game.area_number) == (stage.world, stage.number, stage.number)
        assert game.has_control


def test_states_are_made_once(rom: Rom, cache: CacheDir, monkeypatch: pytest.MonkeyPatch) -> None:
    states = start_states(rom, cache)
    monkeypatch.setattr(module, "make_start_states", lambda *_: pytest.fail("made again"))
    assert start_states(rom, cache) == states


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def be_empty(path: Path) -> None:
    path.write_bytes(b"")


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def seal(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


def hold_one_stage(path: Path) -> None:
    (num_bytes,) = struct.unpack("<I", path.read_bytes()[34:38])
    path.write_bytes(seal(path.read_bytes()[32 : 38 + num_bytes]))


def hold_stages_in_each_other_s_place(path: Path) -> None:
    content = path.read_bytes()[32:]
    second = 6 + struct.unpack_from("<I", content, 2)[0]
    third = second + 6 + struct.unpack_from("<I", content, second + 2)[0]
    exchanged = content[:2] + content[second + 2 : third] + content[second : second + 2] + content[2:second]
    path.write_bytes(seal(exchanged + content[third:]))


def hold_nonsense(path: Path) -> None:
    path.write_bytes(seal(b"\x01\x01\x05\x00\x00\x00hello"))


DAMAGES = [cut_off, flip_a_bit, be_empty, hold_one_stage, hold_stages_in_each_other_s_place, hold_nonsense]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_noticed_and_made_again(
    rom: Rom, cache: CacheDir, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    states = start_states(rom, cache)
    (path,) = cache.folder("start_states").iterdir()
    whole = path.read_bytes()
    damage(path)
    assert path.read_bytes() != whole
    with caplog.at_level(logging.WARNING):
        assert start_states(rom, cache) == states
    assert "making them again" in caplog.text
    assert path.read_bytes() == whole


def test_states_that_cannot_be_kept_are_still_given(
    rom: Rom, cache: CacheDir, caplog: pytest.LogCaptureFixture
) -> None:
    states = start_states(rom, cache)
    (path,) = cache.folder("start_states").iterdir()
    be_a_folder(path)
    assert start_states(rom, cache) == states
    assert "will be made again next time" in caplog.text


def test_another_cartridge_has_another_file(rom: Rom, cache: CacheDir, tmp_path: Path) -> None:
    start_states(rom, cache)
    path = tmp_path / "other.nes"
    path.write_bytes(make_program_cartridge(ALWAYS_PLAYING, fill=0))
    start_states(open_rom(path, allow_unknown=True), cache)
    first, second = cache.folder("start_states").iterdir()
    shutil.copyfile(first, second)  # as if one were the other's: every state names its cartridge
    for each in (rom, open_rom(path, allow_unknown=True)):
        console = Console(each.path, allow_unknown_rom=True)
        console.load(start_states(each, cache)[Stage(1, 1)])


def test_a_program_that_never_gives_control_is_reported(cache: CacheDir, tmp_path: Path) -> None:
    path = tmp_path / "program.nes"
    path.write_bytes(make_program_cartridge())
    with pytest.raises(RomError, match=r"start does not lead to stage 1-1"):
        start_states(open_rom(path, allow_unknown=True), cache)
