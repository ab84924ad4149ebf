"""Where every stage begins: one save-state per stage, made from the user's own cartridge at first use and cached.

The game itself leads there. On the title screen three bytes say which stage the next game begins with; with others in
their place, start begins another stage. Screens and walks before it pass as they do for a player, until the player
has control, and then the game knows the number of the area that it has reached: the next stage's follows it.
"""

import hashlib
import logging
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import RomError, SaveStateError, StorageError
from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.console import Console
from mario_a3c.native.library import load_library
from mario_a3c.native.rom import Rom

LOG = logging.getLogger("mario.start_states")

STAGES_PER_WORLD = 4
_MAX_WORLDS = 13
# How the states below are made; raise it when that changes, and cached ones are made again.
_VERSION = 1

# The cartridge of the Lost Levels lacks what its disk loads after world 4: numbers above lead to nonsense.
_NUM_WORLDS = {"super-mario-bros": 8, "lost-levels": 4}
_WORLD, _STAGE, _AREA = 0x075F, 0x075C, 0x0760
_START = 8
_BOOT_FRAMES = 60
_PRESS_FRAMES = 2
_MAX_FRAMES_TO_CONTROL = 1500  # the longest way, through a walk into a pipe, takes 550
_DIGEST_BYTES = 32
_ENTRY = struct.Struct("<BBI")  # world, stage, bytes of its state


@dataclass(frozen=True, order=True, slots=True)
class Stage:
    """A stage as the game shows it: world 1-8, stage 1-4. `str(Stage(4, 2))` is "4-2"."""

    world: int
    number: int

    def __post_init__(self) -> None:
        if not (1 <= self.world <= _MAX_WORLDS and 1 <= self.number <= STAGES_PER_WORLD):
            raise ValueError(f"there is no stage {self.world}-{self.number}; the first is 1-1, the last 8-4")

    def __str__(self) -> str:
        return f"{self.world}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> "Stage":
        match = re.fullmatch(r"([0-9]{1,2})-([0-9])", text.strip())
        if match is None:
            raise ValueError(f"a stage is written like 1-1, got {text!r}")
        return cls(int(match[1]), int(match[2]))


def stages_of(rom: Rom) -> list[Stage]:
    """Every stage of a cartridge, in order. An unknown one is taken to be Super Mario Bros."""
    num_worlds = _NUM_WORLDS[rom.known.game if rom.known is not None else "super-mario-bros"]
    return [Stage(world, number) for world in range(1, num_worlds + 1) for number in range(1, STAGES_PER_WORLD + 1)]


def start_states(rom: Rom, cache: CacheDir) -> dict[Stage, bytes]:
    """A save-state for every stage, at the first frame in which the player has control. Small, two lives in reserve."""
    path = _path(rom, cache)
    console = Console(rom.path, allow_unknown_rom=True)
    try:
        return _unpack(path.read_bytes(), rom, console)
    except FileNotFoundError:
        LOG.info("making the start states of %s (less than a second, once)", rom.title)
    except (OSError, ValueError, struct.error, zlib.error, SaveStateError) as error:
        LOG.warning("the start states in %s cannot be used (%s): making them again", path, error)
    states = dict(make_start_states(console, stages_of(rom)))
    try:
        write_durably(path, _pack(states), mode=0o600)
    except StorageError as error:
        LOG.warning("the start states will be made again next time: %s", error)
    return states


def make_start_states(console: Console, stages: list[Stage]) -> Iterator[tuple[Stage, bytes]]:
    """Plays to the beginning of each stage. `stages` holds whole worlds, in order."""
    console.power_on()
    console.run_frame(0, _BOOT_FRAMES)
    title_screen = console.save()
    area = 0
    for stage in stages:
        if stage.number == 1:
            area = 0
        console.load(title_screen)
        game = _play_to_control(console, stage, area)
        _expect_start(game, stage)
        area = game.area_number  # counted from 1, so this is the next one
        yield stage, console.save()


def _play_to_control(console: Console, stage: Stage, area: int) -> GameRecord:
    console.ram[[_WORLD, _STAGE, _AREA]] = (stage.world - 1, stage.number - 1, area)
    console.run_frame(_START, _PRESS_FRAMES)
    for _ in range(_MAX_FRAMES_TO_CONTROL):
        game = console.game()
        if game.has_control:
            return game
        console.run_frame(0)
    raise RomError(f"start does not lead to stage {stage}; is {console.rom.path} Super Mario Bros.?")


def _expect_start(game: GameRecord, stage: Stage) -> None:
    if not game.has_control or (game.world, game.stage) != (stage.world, stage.number):
        raise SaveStateError(f"stage {stage} was expected, under the player's control; {game.world}-{game.stage} came")


def _path(rom: Rom, cache: CacheDir) -> Path:
    library = load_library().mario_source_hash().decode()
    return cache.folder("start_states") / f"{rom.cartridge.sha1}-{library[:16]}-v{_VERSION}.states"


def _pack(states: dict[Stage, bytes]) -> bytes:
    """A SHA-256 of the rest, then one entry per stage; the states are mostly zeros."""
    entries = []
    for stage, state in states.items():
        packed = zlib.compress(state)
        entries.append(_ENTRY.pack(stage.world, stage.number, len(packed)) + packed)
    content = b"".join(entries)
    return hashlib.sha256(content).digest() + content


def _unpack(file: bytes, rom: Rom, console: Console) -> dict[Stage, bytes]:
    """Raises unless every stage is there and the console accepts its state as that stage."""
    content = file[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != file[:_DIGEST_BYTES]:
        raise ValueError("its checksum is wrong")
    states, at = {}, 0
    while at < len(content):
        world, number, num_bytes = _ENTRY.unpack_from(content, at)
        at += _ENTRY.size
        states[Stage(world, number)] = zlib.decompress(content[at : at + num_bytes])
        at += num_bytes
    if list(states) != stages_of(rom):
        raise ValueError("other stages than this cartridge's are in it")
    for stage, state in states.items():
        console.load(state)
        _expect_start(console.game(), stage)
    return states
