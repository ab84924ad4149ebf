"""Both engines play the game: the same bytes in every frame, from power-on."""

from pathlib import Path

import numpy as np
import pytest

from mario_a3c.native import BatchConsole, Console
from tests.support.play import RandomPlay

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ram_fill", [0x00, 0xFF])
def test_random_play_from_power_on_is_the_same_in_every_byte(
    game_rom: Path, engine_path: Path, seed: int, ram_fill: int
) -> None:
    slow, fast = Console(game_rom), Console(game_rom)
    fast.set_engine(engine_path)
    for console in (slow, fast):
        console.power_on(ram_fill)
    play = RandomPlay(seed)
    for frame in range(3000):
        buttons = play.next_buttons(slow.ram)
        slow.run_frame(buttons)
        fast.run_frame(buttons)
        assert slow.save() == fast.save(), f"frame {frame}"
    # Frames that the game overran are among them: a level was loaded.
    assert slow.num_lag_frames > 3
    np.testing.assert_array_equal(slow.screen(), fast.screen())


def test_resets_and_pokes_in_the_middle_of_play_are_the_same(game_rom: Path, engine_path: Path) -> None:
    slow, fast = Console(game_rom), Console(game_rom)
    fast.set_engine(engine_path)
    play, rng = RandomPlay(seed=9), np.random.default_rng(9)
    for frame in range(4000):
        if frame % 400 == 399:
            for console in (slow, fast):
                console.reset()
        if frame % 50 == 49:  # nonsense in memory leads to code that play does not reach
            address, value = int(rng.integers(0x700, 0x800)), int(rng.integers(0, 256))
            slow.ram[address] = fast.ram[address] = value
        buttons = play.next_buttons(slow.ram)
        slow.run_frame(buttons)
        fast.run_frame(buttons)
        assert slow.save() == fast.save(), f"frame {frame}"


def test_a_batch_on_the_engine_equals_one_on_the_interpreter(game_rom: Path, engine_path: Path) -> None:
    slow, fast = (BatchConsole(game_rom, 6, num_threads=threads) for threads in (1, 2))
    fast.set_engine(engine_path)
    plays = [RandomPlay(seed) for seed in range(6)]
    for _ in range(300):
        slow.buttons[:] = [play.next_buttons(row) for play, row in zip(plays, slow.ram, strict=True)]
        fast.buttons[:] = slow.buttons
        slow.step()
        fast.step()
        np.testing.assert_array_equal(slow.observations, fast.observations)
        assert [slow.save(index) for index in range(6)] == [fast.save(index) for index in range(6)]
