"""Pictures of whole levels, drawn by the game itself and stitched.

The camera is moved through the area by writing what the game's own scrolling writes, while everything that could
interfere is held still: the game draws each new column as it does for a player. Only the scenery is shown. Sprites
(player, enemies, lifts, fire bars) are left out; coins and question blocks are at their brightest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import RomError
from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.cartridge import HEADER_BYTES
from mario_a3c.native.console import Console
from mario_a3c.native.view import SCREEN_HEIGHT, SCREEN_WIDTH, View

STATUS_BAR_HEIGHT = 32
LEVEL_HEIGHT = SCREEN_HEIGHT - STATUS_BAR_HEIGHT
PLAYER_MIDDLE = (8, 24)  # of a small player, from the corner that the game counts from

_VIEW = View(y=STATUS_BAR_HEIGHT, height=LEVEL_HEIGHT, out_width=SCREEN_WIDTH, out_height=LEVEL_HEIGHT, is_rgb=True)
_STRIP_WIDTH = 32
_PIXELS_PER_FRAME = 2  # drawing 32 pixels takes the game 8 frames
_MAX_PAGES = 32  # the game's numbers go no further
_SETTLE_FRAMES = 8
_MAX_LOADING_FRAMES = 600

# Work RAM.
_FRAME_COUNTER = 0x09  # coins and question blocks change their colour when it divides by 8
_COLOUR_STEP = 0x06D4  # the brightest comes first
_PLAYER_STATE, _CHANGES_SIZE = 0x0E, 9  # the player does nothing, for ever where that has not begun
_ARE_ENEMIES_THERE = slice(0x0F, 0x15)  # nobody is to meet the player
_SPRITES_Y = slice(0x0204, 0x0300, 4)  # all but sprite 0, at which the game splits the screen
_BELOW_SCREEN = 0xF8
_SCREEN_LEFT, _SCREEN_RIGHT = (0x071A, 0x071C), (0x071B, 0x071D)  # page and pixel
_SPRITE_0_SPLIT, _PARSER_PAGE, _PARSER_COLUMN, _AREA_DATA_OFFSET = 0x0722, 0x0725, 0x0726, 0x072C
_OBJECTS_LEFT = slice(0x0730, 0x0733)  # columns still to come of up to three objects; negative when done
_SCROLLED, _SCROLL, _MAZE_CHECK = 0x073D, 0x073F, 0x0745
_NEXT_AREA, _NEXT_PAGE, _ENTRANCE, _FROM_PIPE = 0x0750, 0x0751, 0x0752, 2
_GAME_TASK, _IS_SCREEN_OFF, _PPU_CONTROL = 0x0772, 0x0774, 0x0778
_END_OF_AREA = 0xFD
_AREA_CODE = 0x7F  # the highest bit of next_area says nothing about which area it is


@dataclass(frozen=True, slots=True)
class LevelPicture:
    """One area of a stage, from its left end to the end of the screen in which its last object lies.

    `picture` is [208, W, 3] uint8 without the status bar: the screen at `screen_x` shows columns screen_x to
    screen_x + 255. `room` and `area_type` are as in the game's record.
    """

    room: int
    area_type: int
    picture: npt.NDArray[np.uint8]


def level_pictures(console: Console, start_state: bytes) -> list[LevelPicture]:
    """The area in which a stage starts, then those that its pipes and vines lead to. About 0.1 s each.

    The console is used for drawing and left somewhere in the last area.
    """
    console.load(start_state)
    main, areas = _draw_area(console)
    pictures = {main.room: main}
    for area in sorted(areas):
        console.load(start_state)
        room = _enter(console, area).room
        if room not in pictures:
            # Where that leads in turn is no more of the stage's: stages share their bonus rooms.
            pictures[room], _ = _draw_area(console)
    return list(pictures.values())


def stack_panels(
    panels: Sequence[npt.NDArray[np.uint8]], *, gap: int, background: int | tuple[int, int, int]
) -> npt.NDArray[np.uint8]:
    """Pictures of areas [H, W, 3] as one, below each other."""
    width = max(panel.shape[1] for panel in panels)
    height = sum(panel.shape[0] + gap for panel in panels) - gap
    picture = np.full((height, width, 3), background, np.uint8)
    top = 0
    for panel in panels:
        picture[top : top + panel.shape[0], : panel.shape[1]] = panel
        top += panel.shape[0] + gap
    return picture


def _draw_area(console: Console) -> tuple[LevelPicture, set[int]]:
    """The area in which the game is, and the codes of the areas that it leads to."""
    game = console.game()
    num_pixels: int | None = None
    strips, areas = [], set[int]()
    console.ram[_COLOUR_STEP] = 0
    _run_frame_at(console, 0, frame_counter=7)
    for _ in range(_SETTLE_FRAMES):
        _run_frame_at(console, 0)
    for left in range(0, _MAX_PAGES * SCREEN_WIDTH, _PIXELS_PER_FRAME):
        _run_frame_at(console, left)
        areas.add(int(console.ram[_NEXT_AREA]) & _AREA_CODE)
        if num_pixels is None and _is_drawn_to_the_end(console, game.room):
            num_pixels = (int(console.ram[_PARSER_PAGE]) + (console.ram[_PARSER_COLUMN] > 0)) * SCREEN_WIDTH
        if num_pixels is not None and left >= num_pixels - SCREEN_WIDTH and left % _STRIP_WIDTH == 0:
            strips.append(console.observe(_VIEW))
            return LevelPicture(game.room, game.area_type, np.concatenate(strips, axis=1)), areas
        if left % _STRIP_WIDTH == 0:
            # Taken where it leaves the screen: some texts are written late.
            strips.append(console.observe(_VIEW)[:, :_STRIP_WIDTH])
    raise RomError(f"the area at ${game.room:04X} has no end; is {console.rom.path} Super Mario Bros.?")


def _run_frame_at(console: Console, left: int, *, frame_counter: int = 0) -> None:
    """One frame with the screen's left edge at a pixel of the area, and nothing else going on."""
    ram = console.ram
    ram[_FRAME_COUNTER] = frame_counter  # the game counts before it looks
    ram[_PLAYER_STATE] = _CHANGES_SIZE
    ram[_ARE_ENEMIES_THERE] = 0
    ram[_SPRITES_Y] = _BELOW_SCREEN
    ram[_MAZE_CHECK] = 0
    scrolled = left - console.game().screen_x
    ram[_SCROLLED] = (int(ram[_SCROLLED]) + scrolled) & 0xFF
    ram[_SCROLL] = left & 0xFF
    ram[_PPU_CONTROL] = (int(ram[_PPU_CONTROL]) & 0xFE) | (left >> 8 & 1)
    for (page, pixel), edge in ((_SCREEN_LEFT, left), (_SCREEN_RIGHT, left + SCREEN_WIDTH - 1)):
        ram[page], ram[pixel] = edge >> 8, edge & 0xFF
    console.run_frame(0)


def _is_drawn_to_the_end(console: Console, room: int) -> bool:
    """Whether the game has read all of the area's objects and drawn the last column of each."""
    cartridge, ram = console.rom.cartridge, console.ram
    offset = (room + int(ram[_AREA_DATA_OFFSET])) % cartridge.prg_rom_bytes  # a small cartridge shows itself twice
    is_read = cartridge.file[HEADER_BYTES + offset] == _END_OF_AREA
    return is_read and bool((ram[_OBJECTS_LEFT] >= 0x80).all())


def _enter(console: Console, area: int) -> GameRecord:
    """Goes to the first screen of another area, as a pipe would."""
    ram = console.ram
    ram[[_NEXT_AREA, _NEXT_PAGE, _ENTRANCE]] = (area, 0, _FROM_PIPE)
    ram[[_GAME_TASK, _SPRITE_0_SPLIT, _IS_SCREEN_OFF]] = (0, 0, 1)
    for _ in range(_MAX_LOADING_FRAMES):
        console.run_frame(0)
        game = console.game()
        if not game.is_loading:
            return game
    raise RomError(f"area ${area:02X} cannot be entered; is {console.rom.path} Super Mario Bros.?")
