"""The record of the game while the real game goes through what it speaks of."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.bench.run_through import run_through, start_game
from mario_a3c.cache_dir import CacheDir
from mario_a3c.native import Console, Stage
from mario_a3c.native.game_record import GAME_DTYPE
from mario_a3c.native.level_picture import _run_frame_at
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import start_states

pytestmark = pytest.mark.slow

DOWN = 32
CLAIMS = [name for name in GAME_DTYPE.names or () if GAME_DTYPE[name] == np.bool_]


def story(console: Console, buttons: Iterable[int]) -> list[tuple[str, set[str]]]:
    """Which claims hold, frame by frame; only the changes. What follows from no control is left out."""
    chapters: list[tuple[str, set[str]]] = []
    for held in buttons:
        console.run_frame(held)
        game = console.game()
        claims = {name for name in CLAIMS if getattr(game, name)} - {"is_cut_scene", "is_busy"}
        if not chapters or chapters[-1][1] != claims:
            chapters.append((f"{game.world}-{game.stage}", claims))
    return chapters


def place(console: Console, state: bytes, *, screen_x: int, x: int, y: int) -> None:
    """Puts the camera and the player somewhere in the stage."""
    console.load(state)
    for left in range(0, screen_x + 1, 2):
        _run_frame_at(console, left)
    console.ram[[0x0E, 0x6D, 0x86, 0xB5, 0xCE, 0x57, 0x9F]] = (8, x >> 8, x & 255, 1, y, 0, 0)


def test_from_the_start_of_1_1_over_the_flag_and_the_walk_to_a_death_in_1_2(game_rom: Path) -> None:
    console = Console(game_rom)
    start_game(console)
    play = [buttons for buttons in run_through() for _ in range(4)]
    assert story(console, [*play, *[0] * 1800]) == [
        ("1-1", {"has_control"}),
        ("1-1", {"is_on_flagpole", "is_stage_over", "has_flag", "is_stage_clear"}),
        ("1-1", {"is_stage_over", "has_flag", "is_stage_clear"}),
        ("1-1", {"is_stage_clear"}),
        ("1-2", {"is_loading"}),
        ("1-2", {"is_entering"}),
        ("1-2", {"is_entering", "is_intro_walk"}),
        ("1-2", {"is_loading"}),
        ("1-2", {"is_entering"}),
        ("1-2", {"has_control"}),
        ("1-2", {"is_dying", "is_losing_life"}),
        ("1-2", {"is_dying", "is_dead", "is_losing_life"}),
        ("1-2", {"is_loading", "is_dying"}),  # what is left of the fall
        ("1-2", {"is_loading"}),
        ("1-2", {"is_entering"}),
        ("1-2", {"has_control"}),
    ]
    assert console.game().lives == 1


def test_down_a_pipe_into_another_room(game_rom: Path, cache: CacheDir) -> None:
    console = Console(game_rom)
    state = start_states(open_rom(game_rom), cache)[Stage(1, 1)]
    place(console, state, screen_x=800, x=920, y=100)  # above the fourth pipe
    before = console.game()
    assert [claims for _, claims in story(console, [DOWN] * 120)] == [
        {"has_control"},
        {"is_in_pipe"},
        {"is_loading"},
        {"is_entering"},
        {"has_control"},
    ]
    after = console.game()
    assert after.room != before.room
    assert (before.area_type, after.area_type) == (1, 2)


def test_the_axe_ends_the_world(game_rom: Path, cache: CacheDir) -> None:
    console = Console(game_rom)
    state = start_states(open_rom(game_rom), cache)[Stage(1, 4)]
    place(console, state, screen_x=2100, x=2248, y=96)  # at the axe
    assert story(console, [0] * 900) == [
        ("1-4", {"has_axe", "has_flag", "is_stage_clear"}),
        ("1-4", {"has_axe", "has_flag", "is_stage_clear", "is_world_end"}),
        ("2-1", {"is_loading"}),
        ("2-1", {"is_entering"}),
        ("2-1", {"has_control"}),
    ]
