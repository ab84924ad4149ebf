"""Where the game's stages begin. Clocks and kinds of area are as every player knows them."""

from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.native import Console
from mario_a3c.native.known_roms import KNOWN_ROMS, Game, Graphics
from mario_a3c.native.rom import Rom, open_rom
from mario_a3c.native.start_states import Stage, start_states

pytestmark = pytest.mark.slow

RIGHT = 128
WATER, GROUND, UNDER_GROUND, CASTLE = range(4)
# Everything else starts at 400.
CLOCK_300 = {
    *("1-3", "1-4", "2-3", "2-4", "3-2", "3-3", "3-4", "4-3", "5-1", "5-3"),
    *("5-4", "6-3", "6-4", "7-3", "8-1", "8-3"),
}
AREA_TYPES = {"1-2": UNDER_GROUND, "4-2": UNDER_GROUND, "2-2": WATER, "7-2": WATER}
# The walk into a pipe before their second stage is an area of its own.
WORLDS_WITH_A_WALK = (1, 2, 4, 7)
# These are the same area, with other enemies.
SAME_ROOM = (("1-3", "5-3"), ("2-2", "7-2"), ("2-3", "7-3"), ("1-4", "6-4"), ("2-4", "5-4"))


def rom_of(game_rom: Path, game: Game, graphics: Graphics) -> Rom:
    """Variants lie beside the game: in the cache, or in the package that holds them all."""
    wanted = {dump.sha1 for dump in KNOWN_ROMS if (dump.game, dump.graphics) == (game, graphics)}
    for path in sorted(game_rom.parent.glob("*.nes")):
        rom = open_rom(path, allow_unknown=True)
        if rom.cartridge.sha1 in wanted:
            return rom
    pytest.skip(f"{game} ({graphics}) is not here")


@pytest.mark.parametrize("graphics", ["standard", "downsample", "pixel", "rectangle"])
def test_all_32_stages_begin_under_the_player_s_control(game_rom: Path, graphics: Graphics, cache: CacheDir) -> None:
    rom = rom_of(game_rom, "super-mario-bros", graphics)
    states = start_states(rom, cache)
    assert len(states) == 32
    console = Console(rom.path)
    rooms = {}
    for stage, state in states.items():
        console.load(state)
        game, name = console.game(), str(stage)
        assert (game.world, game.stage) == (stage.world, stage.number)
        assert game.clock == (300 if name in CLOCK_300 else 400), name
        assert game.area_type == AREA_TYPES.get(name, CASTLE if stage.number == 4 else GROUND), name
        has_walk = stage.world in WORLDS_WITH_A_WALK and stage.number >= 2
        assert game.area_number == stage.number + has_walk, name
        assert game.is_swimming == (game.area_type == WATER), name
        assert (game.lives, game.status, game.score, game.coins, game.x) == (2, 0, 0, 0, 40), name
        assert game.has_control, name
        assert [game.is_cut_scene, game.is_dying, game.is_game_over] == [False] * 3, name
        rooms[name] = game.room
    for one, other in SAME_ROOM:
        assert rooms.pop(other) == rooms[one]
    assert len(set(rooms.values())) == len(rooms), "no other two stages share an area"


def test_the_controller_moves_the_player_from_the_first_frame(game_rom: Path, cache: CacheDir) -> None:
    console = Console(game_rom)
    for stage, state in start_states(open_rom(game_rom), cache).items():
        moved = []
        for buttons in (0, RIGHT):
            console.load(state)
            console.run_frame(buttons, num_frames=20)
            moved.append(console.game().x - 40)
        assert moved[0] == 0, stage
        assert moved[1] >= 4, stage


def test_the_first_stage_begins_as_it_does_for_a_player(game_rom: Path, cache: CacheDir) -> None:
    console = Console(game_rom)
    console.run_frame(0, 60)
    console.run_frame(8, 2)
    while not console.game().has_control:
        console.run_frame(0)
    played = console.save()
    assert start_states(open_rom(game_rom), cache)[Stage(1, 1)] == played


@pytest.mark.parametrize("graphics", ["standard", "downsample"])
def test_the_lost_levels_begin_too_as_far_as_the_cartridge_has_them(
    game_rom: Path, graphics: Graphics, cache: CacheDir
) -> None:
    rom = rom_of(game_rom, "lost-levels", graphics)
    states = start_states(rom, cache)
    assert [str(stage) for stage in states][-1] == "4-4"
    console, rooms = Console(rom.path), set()
    for stage, state in states.items():
        console.load(state)
        game = console.game()
        assert (game.world, game.stage) == (stage.world, stage.number)
        assert game.has_control
        assert game.clock in (300, 400)
        assert (game.area_type == CASTLE) == (stage.number == 4)
        rooms.add(game.room)
        console.run_frame(RIGHT, num_frames=20)
        assert console.game().x >= 44
    assert len(rooms) == 16


def test_a_picture_of_each_stage_is_its_own(game_rom: Path, cache: CacheDir) -> None:
    console, pictures = Console(game_rom), set()
    for state in start_states(open_rom(game_rom), cache).values():
        console.load(state)
        pictures.add(np.asarray(console.screen()).tobytes())
    assert len(pictures) == 32
