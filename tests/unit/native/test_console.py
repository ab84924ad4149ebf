"""The console as Python sees it, with a program of our own in the slot."""

import gc
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.errors import RomError, SaveStateError
from mario_a3c.native import Console, View
from mario_a3c.native.view import SCREEN_GREY
from tests.support.cartridges import BUTTONS, FRAMES, make_cartridge, make_program_cartridge


@pytest.fixture
def console(rom_path: Path) -> Console:
    return Console(rom_path, allow_unknown_rom=True)


def test_frames_run_and_are_counted(console: Console) -> None:
    console.run_frame(0)
    before = int(console.ram[FRAMES])
    console.run_frame(0, num_frames=9)
    assert console.frame_count == 10
    assert console.ram[FRAMES] == before + 9
    assert not console.is_jammed


@pytest.mark.parametrize(("buttons", "seen"), [(1, 0b10000000), (128, 0b00000001), (0b00010011, 0b11001000), (0, 0)])
def test_the_program_reads_the_buttons_that_are_held(console: Console, buttons: int, seen: int) -> None:
    console.run_frame(buttons, num_frames=3)
    assert console.ram[BUTTONS] == seen


def test_ram_is_a_view_that_can_be_written(console: Console) -> None:
    console.run_frame(0, num_frames=2)
    console.ram[FRAMES] = 100
    console.run_frame(0)
    assert console.ram[FRAMES] == 101
    assert console.ram.shape == (2048,)
    assert console.ram.dtype == np.uint8


def test_power_on_fills_the_ram_and_reset_keeps_it(console: Console) -> None:
    console.power_on(ram_fill=0xAB)
    assert console.ram[0x300] == 0xAB
    assert console.frame_count == 0
    console.ram[0x300] = 1
    console.reset()
    console.run_frame(0)
    assert console.ram[0x300] == 1


def test_memory_outlives_the_console_that_it_belongs_to(rom_path: Path) -> None:
    ram = Console(rom_path, allow_unknown_rom=True).ram
    gc.collect()
    ram[:] = 7
    assert int(ram.sum()) == 7 * 2048


def test_a_loaded_state_goes_on_as_if_nothing_had_happened(console: Console) -> None:
    console.run_frame(1, num_frames=5)
    saved = console.save()
    console.run_frame(3, num_frames=20)
    there = console.save()
    console.load(saved)
    assert console.save() == saved
    console.run_frame(3, num_frames=20)
    assert console.save() == there


@pytest.mark.parametrize("where", [0, 8, 16, 24, 40, 64, 1000, -1])
def test_a_damaged_state_is_refused_and_changes_nothing(console: Console, where: int) -> None:
    console.run_frame(1, num_frames=5)
    saved = console.save()
    console.run_frame(0, num_frames=3)
    present = console.save()
    damaged = bytearray(saved)
    damaged[where] ^= 0x10
    with pytest.raises(SaveStateError):
        console.load(bytes(damaged))
    assert console.save() == present


@pytest.mark.parametrize("cut", [slice(0, 0), slice(0, 10), slice(0, -1)])
def test_a_state_of_another_length_is_refused(console: Console, cut: slice) -> None:
    present = console.save()
    with pytest.raises(SaveStateError):
        console.load(present[cut])
    with pytest.raises(SaveStateError):
        console.load(present + b"\0")
    assert console.save() == present


def test_a_state_of_another_cartridge_is_refused(console: Console, tmp_path: Path) -> None:
    path = tmp_path / "other.nes"
    path.write_bytes(make_program_cartridge(fill=0))
    other = Console(path, allow_unknown_rom=True)
    with pytest.raises(SaveStateError, match=r"ROM|cartridge"):
        console.load(other.save())


def test_the_screen_comes_in_colour_and_in_any_view(console: Console) -> None:
    console.run_frame(0)
    assert console.screen().shape == (240, 256, 3)
    assert console.observe(SCREEN_GREY).shape == (240, 256)
    assert console.observe(View()).shape == (84, 84)
    assert console.observe(View(y=32, height=208, out_width=42, out_height=42)).shape == (42, 42)


@pytest.mark.parametrize(
    "view",
    [View(x=1), View(width=258), View(height=0), View(out_width=300), View(is_rgb=True), View(y=238, height=4)],
)
def test_a_view_that_cannot_be_drawn_is_refused(console: Console, view: View) -> None:
    with pytest.raises(ValueError, match=r"view|even|screen|colour|grow"):
        console.observe(view)


def test_numbers_that_ctypes_would_cut_are_refused(console: Console) -> None:
    for call in (
        lambda: console.run_frame(256),
        lambda: console.run_frame(-1),
        lambda: console.run_frame(0, num_frames=-1),
        lambda: console.power_on(ram_fill=256),
        lambda: View(x=-2),
    ):
        with pytest.raises(ValueError, match=r"must be in|negative"):
            call()
    assert console.frame_count == 0


def test_idle_loops_may_be_executed_with_the_same_result(rom_path: Path) -> None:
    skipping, waiting = (Console(rom_path, allow_unknown_rom=True) for _ in range(2))
    waiting.set_idle_skip(False)
    for buttons in range(30):
        skipping.run_frame(buttons)
        waiting.run_frame(buttons)
    assert skipping.save() == waiting.save()


def test_cycles_and_frames_are_two_ways_to_the_same_place(rom_path: Path) -> None:
    by_frames, by_cycles = (Console(rom_path, allow_unknown_rom=True) for _ in range(2))
    by_frames.run_frame(1, num_frames=50)
    end = by_frames.registers().cycle
    for cycle in range(1000, end, 997):
        by_cycles.run_to_cycle(1, cycle)
        assert cycle <= by_cycles.registers().cycle < cycle + 10
    by_cycles.run_to_cycle(1, end)
    assert by_cycles.save() == by_frames.save()
    assert by_cycles.frame_count == 50
    assert by_frames.registers().pc == 0x800A, "the loop in which the program waits"


def test_an_instruction_that_stops_the_chip_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "jam.nes"
    path.write_bytes(make_program_cartridge(bytes([0x02])))
    console = Console(path, allow_unknown_rom=True)
    console.run_frame(0, num_frames=3)
    assert console.is_jammed
    assert console.frame_count == 3


def test_work_ram_of_the_cartridge_is_there_when_the_cartridge_has_it(console: Console, tmp_path: Path) -> None:
    assert console.prg_ram is not None
    assert console.prg_ram.shape == (8192,)
    path = tmp_path / "without.nes"
    path.write_bytes(make_cartridge(flags=b"\x01\x08"))
    assert Console(path, allow_unknown_rom=True).prg_ram is None


def test_an_unknown_cartridge_and_an_unknown_engine_are_refused(rom_path: Path) -> None:
    with pytest.raises(RomError, match="not a known dump"):
        Console(rom_path)
    with pytest.raises(ValueError, match="engine must be"):
        Console(rom_path, engine="fast", allow_unknown_rom=True)  # type: ignore[arg-type]
