"""The game on the console: what holds for our own programs holds for it, too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.bench.run_through import run_through, start_game
from mario_a3c.native import BatchConsole, Console, View
from mario_a3c.native.view import SCREEN_RGB
from tests.support.play import RandomPlay

pytestmark = pytest.mark.slow

PLAYER_FLOAT_STATE = 0x001D  # 3 while the player slides down the flagpole


def test_a_recorded_run_reaches_the_flag(game_rom: Path) -> None:
    console = Console(game_rom)
    start_game(console)
    reached = False
    for buttons in run_through():
        console.run_frame(buttons, num_frames=4)
        reached = reached or console.ram[PLAYER_FLOAT_STATE] == 3
    assert reached


def test_skipping_idle_loops_changes_no_byte(game_rom: Path) -> None:
    skipping, waiting = Console(game_rom), Console(game_rom)
    waiting.set_idle_skip(False)
    play = RandomPlay(seed=1)
    for _ in range(4000):
        buttons = play.next_buttons(skipping.ram)
        skipping.run_frame(buttons)
        waiting.run_frame(buttons)
        assert skipping.save() == waiting.save()


def test_a_state_may_be_saved_and_loaded_at_any_frame(game_rom: Path) -> None:
    console, witness = Console(game_rom), Console(game_rom)
    play = RandomPlay(seed=2)
    for _ in range(2000):
        buttons = play.next_buttons(console.ram)
        saved = console.save()
        console.run_frame(buttons)
        once = console.save()
        console.load(saved)
        console.run_frame(buttons)
        witness.run_frame(buttons)
        assert console.save() == once == witness.save()
    np.testing.assert_array_equal(console.screen(), witness.screen())


@pytest.mark.parametrize("view", [View(), View(y=32, height=208), SCREEN_RGB], ids=["grey", "cropped", "colour"])
@pytest.mark.parametrize("takes_maximum", [False, True])
def test_batches_of_any_size_and_any_number_of_threads_agree(game_rom: Path, view: View, takes_maximum: bool) -> None:
    batches = [
        BatchConsole(game_rom, size, num_threads=threads, view=view, takes_maximum=takes_maximum)
        for size, threads in ((8, 1), (8, 2), (8, 3), (3, 2))
    ]
    plays = [RandomPlay(seed) for seed in range(8)]
    for _ in range(250):
        held = [play.next_buttons(ram) for play, ram in zip(plays, batches[0].ram, strict=True)]
        for batch in batches:
            batch.buttons[:] = held[: batch.num_consoles]
            batch.step()
            np.testing.assert_array_equal(batch.observations, batches[0].observations[: batch.num_consoles])
            np.testing.assert_array_equal(batch.ram, batches[0].ram[: batch.num_consoles])
    for batch in batches:
        for index in range(batch.num_consoles):
            assert batch.save(index) == batches[0].save(index)


# In a process of its own: in this one other tests leave threads and free memory behind.
MILLION_FRAMES = """
import sys
from pathlib import Path

import numpy as np

from mario_a3c.native import BatchConsole

batch = BatchConsole(sys.argv[1], 64, num_snapshots=1)
rng = np.random.default_rng(0)


def play(num_steps):
    for _ in range(num_steps):
        batch.buttons[:] = rng.choice([0, 8, 128, 129, 130, 131], 64)
        batch.step()
        batch.set_snapshot(0, batch.save(0))
        batch.copy(to=1, source=0)
        batch.snapshots[2] = 0


def resident_bytes():
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


play(100)
before = resident_bytes()
play(1_000_000 // (64 * 4))
print(resident_bytes() - before)
"""


def test_a_million_frames_need_no_more_memory(game_rom: Path) -> None:
    command = [sys.executable, "-c", MILLION_FRAMES, str(game_rom)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500_000


def test_the_benchmark_runs(game_rom: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mario_a3c", "bench", "console", "--rom", str(game_rom), "--rounds", "1"]
    done = subprocess.run([*command, "--json", str(tmp_path / "x.json")], capture_output=True, text=True, check=True)
    assert "| mario-a3c interpreter | none | 1 |" in done.stdout
    assert '"frames_per_second"' in (tmp_path / "x.json").read_text()
