"""The record of the game, from memories written by hand. The addresses are those of every published memory map."""

from pathlib import Path

import numpy as np
import pytest

from mario_a3c.native import BatchConsole, Console
from mario_a3c.native.game_record import GAME_DTYPE, read_game
from tests.support.cartridges import make_program_cartridge

# Playing 3-2 under the player's control: mode 1, task 3, player 8, on the screen.
IN_PLAY = {0x0770: 1, 0x0772: 3, 0x0E: 8, 0xB5: 1, 0x075F: 2, 0x075C: 1, 0x0760: 1, 0x074E: 1, 0x075A: 2}


def memory(changes: dict[int, int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    ram = np.zeros(2048, np.uint8)
    for address, value in (IN_PLAY | changes).items():
        ram[address] = value
    return ram


def claims_of(changes: dict[int, int]) -> set[str]:
    record = read_game(memory(changes))
    return {name for name in GAME_DTYPE.names or () if GAME_DTYPE[name] == np.bool_ and getattr(record, name)}


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({0x07DE: 1, 0x07DF: 2, 0x07E0: 3, 0x07E1: 4, 0x07E2: 5, 0x07E3: 6}, "score", 123456),
        ({0x6D: 0x0C, 0x86: 0x34}, "x", 0x0C34),
        ({0x071A: 0x0B, 0x071C: 0xF0}, "screen_x", 0x0BF0),
        ({0x86: 0x10, 0x071C: 0xF0}, "x_on_screen", 0x20),
        ({0x03B8: 176}, "y", 79),
        ({0x03B8: 250, 0xB5: 0}, "y", 260),
        ({0x03B8: 10, 0xB5: 2}, "y", 245),
        ({0xCE: 176}, "y_on_screen", 176),
        ({0xB5: 3}, "y_screen", 3),
        ({0x07F8: 3, 0x07F9: 9, 0x07FA: 8}, "clock", 398),
        ({0x07ED: 4, 0x07EE: 2}, "coins", 42),
        ({}, "world", 3),
        ({}, "stage", 2),
        ({}, "level", 9),
        ({}, "area_number", 2),
        ({0xE7: 0xFC, 0xE8: 0xA3}, "room", 0xA3FC),
        ({0x0756: 1}, "status", 1),
        ({0x0756: 2}, "status", 2),
        ({0x0756: 3}, "status", 2),
        ({}, "lives", 2),
        ({}, "player_state", 8),
        ({0x1D: 2}, "motion", 2),
        ({}, "game_mode", 1),
        ({}, "game_task", 3),
        ({0x074E: 3}, "area_type", 3),
        ({0x0750: 0xE5}, "next_area", 0xE5),
        ({0x0751: 7}, "next_page", 7),
        ({0x06DA: 2}, "maze_passes", 2),
        ({0x06D9: 1}, "maze_correct", 1),
        ({0x0745: 1}, "maze_pending", 1),
    ],
)
def test_numbers_are_read_from_their_addresses(changes: dict[int, int], field: str, value: int) -> None:
    assert getattr(read_game(memory(changes)), field) == value


@pytest.mark.parametrize(
    ("changes", "claims"),
    [
        ({}, {"has_control"}),
        ({0x0704: 1}, {"has_control", "is_swimming"}),
        ({0x0743: 1}, {"has_control", "is_on_clouds"}),
        ({0x14: 1, 0x1B: 0x2E}, {"has_control", "is_power_up_out"}),
        ({0x14: 1, 0x1B: 0x2E, 0x39: 1}, {"has_control", "is_power_up_out"}),  # a flower
        ({0x14: 1, 0x1B: 0x2E, 0x39: 2}, {"has_control"}),  # a star
        ({0x14: 0, 0x1B: 0x2E}, {"has_control"}),  # gone
        ({0x14: 1, 0x1B: 0x30}, {"has_control"}),
        ({0x0776: 0x81}, {"is_paused"}),
        ({0x0776: 0x80}, {"has_control"}),  # the pause sound has not ended, the pause has
        ({0x1D: 3}, {"has_control", "is_climbing"}),
        ({0x0772: 1}, {"is_loading", "is_cut_scene"}),
        ({0x0770: 0}, {"is_cut_scene"}),
        ({0x0E: 0}, {"is_busy", "is_cut_scene", "is_entering"}),
        ({0x0E: 1, 0x1D: 3}, {"is_busy", "is_cut_scene", "is_entering", "is_climbing"}),
        ({0x0E: 2}, {"is_busy", "is_cut_scene", "is_in_pipe"}),
        ({0x0E: 3}, {"is_busy", "is_cut_scene", "is_in_pipe"}),
        ({0x0E: 7}, {"is_busy", "is_cut_scene", "is_entering"}),
        ({0x0E: 7, 0x0752: 2}, {"is_busy", "is_cut_scene", "is_entering", "is_in_pipe"}),
        ({0x0E: 7, 0x0710: 6}, {"is_busy", "is_cut_scene", "is_entering", "is_intro_walk"}),
        ({0x0E: 7, 0x0710: 7}, {"is_busy", "is_cut_scene", "is_entering", "is_intro_walk"}),
        ({0x0E: 9}, set()),
        ({0x0E: 10}, set()),
        ({0x0E: 12}, set()),
        ({0x0E: 11}, {"is_dying", "is_losing_life"}),
        ({0x0E: 6}, {"is_dead", "is_losing_life"}),
        ({0xB5: 2}, {"is_dying", "is_losing_life"}),
        ({0xB5: 2, 0x0743: 1}, {"is_dying", "is_on_clouds"}),
        ({0x0770: 3, 0x075A: 255}, {"is_cut_scene", "is_game_over"}),
        (
            {0x0E: 4, 0x1D: 3, 0x1A: 0x31},
            {"is_busy", "is_cut_scene", "is_on_flagpole", "is_stage_over", "has_flag", "is_stage_clear"},
        ),
        ({0x0E: 5}, {"is_busy", "is_cut_scene", "is_stage_clear"}),
        ({0x0E: 5, 0x1D: 3}, {"is_busy", "is_cut_scene", "is_stage_clear"}),  # still at the flagpole
        ({0x1D: 3, 0x16: 0x2F}, {"has_control", "is_climbing"}),  # a vine is not a flag
        ({0x1D: 3, 0x18: 0x2D}, {"has_control", "is_climbing", "is_stage_over", "has_flag"}),  # as that package has it
        ({0x0770: 2, 0x0772: 0}, {"is_cut_scene", "has_axe", "has_flag", "is_stage_clear"}),
        ({0x0770: 2, 0x0772: 3}, {"is_cut_scene", "has_axe", "has_flag", "is_stage_clear", "is_world_end"}),
    ],
)
def test_claims_hold_exactly_when_the_memory_says_so(changes: dict[int, int], claims: set[str]) -> None:
    assert claims_of(changes) == claims


def test_a_memory_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2,048 bytes"):
        read_game(np.zeros(2047, np.uint8))


def test_consoles_and_batches_read_their_own_memory(tmp_path: Path) -> None:
    path = tmp_path / "program.nes"
    path.write_bytes(make_program_cartridge())
    console = Console(path, allow_unknown_rom=True)
    batch = BatchConsole(path, 3, allow_unknown_rom=True)
    for world in range(3):
        batch.ram_of(world)[:] = memory({0x075F: world, 0x86: 100 + world})
    batch.step()
    assert batch.games["world"].tolist() == [1, 2, 3]
    assert batch.games["x"].tolist() == [100, 101, 102]
    assert batch.games["has_control"].dtype == np.bool_
    assert batch.games["has_control"].all()
    console.ram[:] = batch.ram_of(2)
    single = console.game()
    assert [getattr(single, name) for name in GAME_DTYPE.names or ()] == list(batch.games[2].tolist())
