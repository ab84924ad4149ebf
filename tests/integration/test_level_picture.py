"""Pictures of whole levels, beside what a player sees of them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.bench.run_through import run_through, start_game
from mario_a3c.cache_dir import CacheDir
from mario_a3c.native import Console, Stage, level_pictures
from mario_a3c.native.level_picture import LEVEL_HEIGHT, STATUS_BAR_HEIGHT
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import start_states

pytestmark = pytest.mark.slow

WATER, GROUND, UNDER_GROUND, CASTLE = range(4)
RIGHT_AND_B = 128 | 2


def same_share(seen: npt.NDArray[np.uint8], picture: npt.NDArray[np.uint8], left: int) -> float:
    """The share of pixels that are equal where a screen is laid on the picture."""
    return float((seen == picture[:, left : left + 256]).all(axis=2).mean())


def assert_lies_on(picture: npt.NDArray[np.uint8], console: Console, buttons: int, note: object) -> None:
    """Runs a frame, whose picture shows the scroll position from before, and lays it on the level's.

    It fits there better than beside it, and everywhere but for sprites and the glow of coins and blocks.
    """
    left = console.game().screen_x
    console.run_frame(buttons)
    seen = console.screen()[STATUS_BAR_HEIGHT:]
    shifts = [shift for shift in range(-4, 5) if 0 <= left + shift <= picture.shape[1] - 256]
    shares = {shift: same_share(seen, picture, left + shift) for shift in shifts}
    assert max(shares, key=shares.__getitem__) == 0, (note, shares)
    assert shares[0] > 0.95, (note, shares)


def test_what_a_player_sees_of_1_1_lies_on_the_picture_from_start_to_flag(game_rom: Path, cache: CacheDir) -> None:
    state = start_states(open_rom(game_rom), cache)[Stage(1, 1)]
    picture = level_pictures(Console(game_rom), state)[0].picture
    console = Console(game_rom)
    start_game(console)
    screens = []
    for step, buttons in enumerate(run_through()):
        console.run_frame(buttons, num_frames=3)
        if step % 5 == 0 and not console.game().is_cut_scene:
            assert_lies_on(picture, console, buttons, step)
            screens.append(console.game().screen_x // 256)
        else:
            console.run_frame(buttons)
    assert {*range(12)} <= {*screens}, "the run did not pass every screen"


@pytest.mark.parametrize("name", ["1-2", "2-2", "4-2", "6-3", "8-4"])
def test_the_first_screens_of_a_stage_lie_on_its_picture(game_rom: Path, cache: CacheDir, name: str) -> None:
    console = Console(game_rom)
    state = start_states(open_rom(game_rom), cache)[Stage.parse(name)]
    picture = level_pictures(console, state)[0].picture
    console.load(state)
    for number in range(6):
        console.run_frame(RIGHT_AND_B, num_frames=15)
        assert_lies_on(picture, console, RIGHT_AND_B, number)


def test_the_player_is_not_on_the_picture(game_rom: Path, cache: CacheDir) -> None:
    console = Console(game_rom)
    state = start_states(open_rom(game_rom), cache)[Stage(1, 1)]
    expected = level_pictures(console, state)[0].picture
    console.load(state)
    console.run_frame(RIGHT_AND_B, num_frames=25)
    assert console.game().screen_x == 0
    np.testing.assert_array_equal(level_pictures(console, console.save())[0].picture, expected)


@pytest.mark.parametrize(
    ("name", "areas"),
    [
        ("1-1", [(GROUND, 13), (UNDER_GROUND, 10)]),
        ("1-2", [(UNDER_GROUND, 13), (GROUND, 13), (UNDER_GROUND, 10)]),
        ("2-2", [(WATER, 13), (GROUND, 13)]),
        ("4-4", [(CASTLE, 12)]),
        ("5-2", [(GROUND, 13), (WATER, 5), (GROUND, 6)]),
        ("8-1", [(GROUND, 24), (UNDER_GROUND, 10)]),
        ("8-4", [(CASTLE, 20), (WATER, 5)]),
    ],
)
def test_every_area_of_a_stage_is_there_at_its_length(
    game_rom: Path, cache: CacheDir, name: str, areas: list[tuple[int, int]]
) -> None:
    states = start_states(open_rom(game_rom), cache)
    pictures = level_pictures(Console(game_rom), states[Stage.parse(name)])
    assert [(each.area_type, each.picture.shape) for each in pictures] == [
        (area_type, (LEVEL_HEIGHT, num_screens * 256, 3)) for area_type, num_screens in areas
    ]


def test_all_stages_have_a_picture_and_shared_areas_the_same(game_rom: Path, cache: CacheDir) -> None:
    console, mains = Console(game_rom), {}
    for stage, state in start_states(open_rom(game_rom), cache).items():
        mains[str(stage)] = level_pictures(console, state)[0].picture
        assert mains[str(stage)].shape[1] >= 2560
    np.testing.assert_array_equal(mains["1-4"], mains["6-4"])
    np.testing.assert_array_equal(mains["2-2"], mains["7-2"])
    assert len({picture.tobytes() for picture in mains.values()}) >= 25
