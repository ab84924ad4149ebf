"""Both engines in every stage of the game: the same state in every frame, the same picture."""

from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.native import Console, View
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, start_states
from tests.support.play import RandomPlay

pytestmark = pytest.mark.slow

STAGES = [f"{world}-{number}" for world in range(1, 9) for number in range(1, 5)]
NUM_FRAMES = 2000


@pytest.fixture(scope="module")
def starts(game_rom: Path, session_cache: CacheDir) -> dict[Stage, bytes]:
    return start_states(open_rom(game_rom), session_cache)


@pytest.mark.parametrize("name", STAGES)
def test_random_play_is_the_same_in_every_byte(
    game_rom: Path, engine_path: Path, starts: dict[Stage, bytes], name: str
) -> None:
    stage = Stage.parse(name)
    slow, fast, play = Console(game_rom), Console(game_rom), RandomPlay(seed=10 * stage.world + stage.number)
    fast.set_engine(engine_path)
    for console in (slow, fast):
        console.load(starts[stage])
    for frame in range(NUM_FRAMES):
        if slow.game().is_losing_life:
            for console in (slow, fast):
                console.load(starts[stage])
        buttons = play.next_buttons(slow.ram)
        slow.run_frame(buttons)
        fast.run_frame(buttons)
        assert slow.save() == fast.save(), f"frame {frame}"
        if frame % 50 == 0:
            np.testing.assert_array_equal(slow.observe(View()), fast.observe(View()))
            np.testing.assert_array_equal(slow.screen(), fast.screen())
