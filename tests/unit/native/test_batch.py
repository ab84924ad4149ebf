"""Many consoles do what as many single ones do."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.errors import SaveStateError
from mario_a3c.native import BatchConsole, Console, View
from tests.support.cartridges import BUTTONS, FRAMES, make_program_cartridge


def make_batch(rom_path: Path, num_consoles: int = 4, **options: Any) -> BatchConsole:
    return BatchConsole(rom_path, num_consoles, allow_unknown_rom=True, **options)


@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize("num_consoles", [1, 5])
def test_a_batch_equals_single_consoles(rom_path: Path, num_consoles: int, num_threads: int) -> None:
    rng = np.random.default_rng(0)
    batch = make_batch(rom_path, num_consoles, num_threads=num_threads)
    singles = [Console(rom_path, allow_unknown_rom=True) for _ in range(num_consoles)]
    for _ in range(8):
        batch.buttons[:] = rng.integers(0, 256, num_consoles)
        batch.step()
        for index, single in enumerate(singles):
            single.run_frame(int(batch.buttons[index]), num_frames=4)
            assert batch.save(index) == single.save()
            np.testing.assert_array_equal(batch.ram[index], single.ram)
            np.testing.assert_array_equal(batch.observations[index], single.observe(View()))


def test_batches_that_share_their_threads_are_stepped_at_the_same_time(rom_path: Path) -> None:
    alone, owner = make_batch(rom_path, 6, num_threads=1), make_batch(rom_path, 5, num_threads=3, takes_maximum=True)
    guest = make_batch(rom_path, 6, num_threads=1, takes_maximum=True)
    guest.share_threads(owner)
    assert guest.num_threads == 3
    rounds = np.random.default_rng(0).integers(0, 256, (30, 6))
    with ThreadPoolExecutor(1) as beside:
        for buttons in rounds:
            alone.buttons[:] = guest.buttons[:] = buttons
            other = beside.submit(owner.step)
            guest.step()
            alone.step()
            other.result()
    del owner  # the threads stay as long as somebody uses them
    guest.step()
    alone.step()
    assert [guest.save(index) for index in range(6)] == [alone.save(index) for index in range(6)]


def test_chosen_bytes_of_ram_come_in_their_order(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2, frame_skip=1, ram_addresses=[BUTTONS, FRAMES])
    for _ in range(3):
        batch.buttons[:] = [1, 128]
        batch.step()
    assert batch.ram.shape == (2, 2)
    assert batch.ram[:, 0].tolist() == [0b10000000, 0b00000001]
    assert batch.ram[0, 1] == batch.ram_of(0)[FRAMES] > 0


def test_a_console_becomes_a_snapshot_for_one_step_and_then_runs_on(rom_path: Path) -> None:
    batch = make_batch(rom_path, 3)
    for _ in range(5):
        batch.step()
    saved = batch.save(1)
    batch.set_snapshot(7, saved)
    batch.take_snapshot(8, 2)
    batch.ram_of(2)[FRAMES] = 200
    for _ in range(3):
        batch.step()
    batch.snapshots[:] = [-1, 7, 8]
    before = batch.save(0)
    batch.step()
    assert batch.save(1) == saved
    assert batch.save(0) != before
    assert batch.ram[2, FRAMES] < 200
    assert batch.snapshots.tolist() == [-1, -1, -1]
    batch.step()
    assert batch.save(1) != saved


def test_a_snapshot_that_nobody_set_is_refused_and_nothing_runs(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2, num_snapshots=3)
    before = [batch.save(index) for index in range(2)]
    for wrong in (1, 3, 2**31 - 1):
        batch.snapshots[:] = [-1, wrong]
        with pytest.raises(ValueError, match="snapshot"):
            batch.step()
    assert [batch.save(index) for index in range(2)] == before


def test_states_are_copied_between_consoles(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2)
    batch.buttons[:] = [1, 2]
    batch.step()
    assert batch.save(0) != batch.save(1)
    batch.copy(to=1, source=0)
    assert batch.save(0) == batch.save(1)


def test_pictures_go_into_the_caller_s_array_or_nowhere(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2)
    mine = np.full((2, 84, 84), 99, np.uint8)
    batch.observations[:] = 55
    batch.step(mine)
    assert not (mine == 99).any()
    assert (batch.observations == 55).all()
    mine[:] = 99
    batch.step(draws=False)
    assert (mine == 99).all()
    assert (batch.observations == 55).all()


def test_an_array_that_does_not_fit_is_refused(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2)
    arrays: list[Any] = [
        np.zeros((2, 84, 83), np.uint8),
        np.zeros((2, 84, 84), np.int32),
        np.zeros((2, 84, 168), np.uint8)[:, :, ::2],
    ]
    for wrong in arrays:
        with pytest.raises(ValueError, match="contiguous uint8 array of shape"):
            batch.step(wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"num_consoles": 0},
        {"num_consoles": -1},
        {"num_threads": -1},
        {"frame_skip": 0},
        {"ram_addresses": [2048]},
        {"view": View(x=3)},
        {"ram_fill": 256},
    ],
)
def test_impossible_batches_are_refused(rom_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        make_batch(rom_path, **options)


def test_indices_out_of_range_are_refused(rom_path: Path) -> None:
    batch = make_batch(rom_path, 2)
    state = batch.save(0)
    for call in (
        lambda: batch.save(2),
        lambda: batch.load(2, state),
        lambda: batch.copy(to=0, source=2),
        lambda: batch.take_snapshot(64, 0),
        lambda: batch.set_snapshot(64, state),
    ):
        with pytest.raises(ValueError, match=r"\d"):
            call()
    with pytest.raises(IndexError):
        batch.ram_of(2)


def test_a_damaged_state_is_refused(rom_path: Path) -> None:
    batch = make_batch(rom_path, 1)
    state = bytearray(batch.save(0))
    state[100] ^= 1
    with pytest.raises(SaveStateError):
        batch.load(0, bytes(state))
    with pytest.raises(SaveStateError):
        batch.set_snapshot(0, bytes(state))


def test_a_jammed_console_is_flagged_and_the_others_run(tmp_path: Path) -> None:
    path = tmp_path / "jam.nes"
    # Waits until button A is held, then meets an instruction that stops the chip.
    program = "A9 01 8D 16 40 A9 00 8D 16 40 AD 16 40 4A 90 F0 02"
    path.write_bytes(make_program_cartridge(bytes.fromhex(program)))
    batch = make_batch(path, 2)
    batch.buttons[:] = [0, 1]
    batch.step()
    assert batch.is_jammed.tolist() == [0, 1]
