"""The dumps this project knows, named by the SHA-1 of what follows the 16-byte header."""

from dataclasses import dataclass
from typing import Literal

Game = Literal["super-mario-bros", "lost-levels"]
Graphics = Literal["standard", "downsample", "pixel", "rectangle"]


@dataclass(frozen=True, slots=True)
class KnownRom:
    """All of them are wired for vertical mirroring."""

    game: Game
    graphics: Graphics
    title: str
    sha1: str


# European and World run at different speeds and clocks, so a result always names the dump it was made on.
KNOWN_ROMS = (
    KnownRom(
        "super-mario-bros",
        "standard",
        "Super Mario Bros. (Europe) (Rev A)",
        "0c4992fc08d2278697339d3b48066e7b5f943598",
    ),
    KnownRom(
        "super-mario-bros",
        "standard",
        "Super Mario Bros. (World)",
        "facee9c577a5262dbe33ac4930bb0b58c8c037f7",
    ),
    KnownRom(
        "super-mario-bros",
        "downsample",
        "Super Mario Bros., downsampled",
        "09e98cc66320c9a4210602008ab1890143237e38",
    ),
    KnownRom(
        "super-mario-bros",
        "pixel",
        "Super Mario Bros., pixel graphics",
        "654e0715c470b812a284eeb22b775ce676558bb5",
    ),
    KnownRom(
        "super-mario-bros",
        "rectangle",
        "Super Mario Bros., rectangles",
        "f5a3ce83636b60cd9b4f6972bbb3b35da37e1bd1",
    ),
    KnownRom(
        "lost-levels",
        "standard",
        "Super Mario Bros. 2 (The Lost Levels)",
        "f3b998073241fe588e28ff6b6f63ba01b4c237bb",
    ),
    KnownRom(
        "lost-levels",
        "downsample",
        "The Lost Levels, downsampled",
        "2a82548e2f8fe32cd617408e5e1e3580dac6e64b",
    ),
)


def identify(sha1: str) -> KnownRom | None:
    return next((dump for dump in KNOWN_ROMS if dump.sha1 == sha1), None)


def dumps_of(game: Game, graphics: Graphics = "standard") -> list[KnownRom]:
    """Every dump that is this game with these graphics, the preferred one first."""
    return [dump for dump in KNOWN_ROMS if (dump.game, dump.graphics) == (game, graphics)]
