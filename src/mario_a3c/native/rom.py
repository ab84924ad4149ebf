"""Finding the game's ROM, which this project never ships.

It is looked for in this order: the file that was named; the cache folder; an installed gym-super-mario-bros
package; that package's wheel, downloaded with pip and kept in the cache.
"""

import importlib.util
import logging
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import RomError
from mario_a3c.native.cartridge import Cartridge, parse_cartridge, read_cartridge
from mario_a3c.native.config import RomConfig
from mario_a3c.native.known_roms import Game, Graphics, KnownRom, dumps_of, identify

LOG = logging.getLogger("mario.rom")

PACKAGE = "gym-super-mario-bros"
PACKAGE_VERSION = "7.4.0"
# The hash makes pip refuse any other file of that name.
_WHEEL_SHA256 = "5aa094115a32ed3d7f2eb044bc24486888af4f878695c9f26c7383a80c744602"
_DOWNLOAD_TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Rom:
    """A cartridge file with its identity and where it came from."""

    path: Path
    cartridge: Cartridge
    known: KnownRom | None
    source: str

    @property
    def title(self) -> str:
        return self.known.title if self.known is not None else "unknown ROM"


def locate_rom(
    config: RomConfig,
    cache: CacheDir,
    *,
    game: Game = "super-mario-bros",
    graphics: Graphics = "standard",
    download: Callable[[Path], Path] | None = None,
) -> Rom:
    """The ROM to play: found, or fetched through pip the first time. `download` is exchanged by tests."""
    found = find_rom(config, cache, game=game, graphics=graphics)
    if found is not None:
        return found
    fetch_roms(cache, download or download_wheel)
    found = find_rom(config, cache, game=game, graphics=graphics)
    if found is None:
        raise RomError(f"{PACKAGE} {PACKAGE_VERSION} does not hold {game} ({graphics}); {_what_to_do(cache)}")
    return found


def find_rom(
    config: RomConfig, cache: CacheDir, *, game: Game = "super-mario-bros", graphics: Graphics = "standard"
) -> Rom | None:
    """The ROM, when it is on this machine already. A file that was named must be usable."""
    if config.rom is not None:
        return open_rom(config.rom, allow_unknown=config.allow_unknown_rom, game=game)
    for source, folder in (("cache", cache.folder("roms")), (f"installed {PACKAGE}", _installed_rom_folder())):
        cartridges = {cartridge.sha1: (path, cartridge) for path, cartridge in _readable_cartridges(folder)}
        for dump in dumps_of(game, graphics):
            if dump.sha1 in cartridges:
                path, cartridge = cartridges[dump.sha1]
                return Rom(path, cartridge, dump, source)
    return None


def open_rom(path: Path, *, allow_unknown: bool = False, game: Game | None = None) -> Rom:
    """Reads a file that somebody named: a known dump (of `game`, where given), unless any is allowed."""
    cartridge = read_cartridge(path)
    known = identify(cartridge.sha1)
    if known is not None and not cartridge.has_vertical_mirroring:
        raise RomError(f"{path} is {known.title} with a wrong header (mirroring); give another file with --rom")
    if not allow_unknown:
        _expect_known(path, cartridge, known, game)
    return Rom(path, cartridge, known, "--rom")


def _expect_known(path: Path, cartridge: Cartridge, known: KnownRom | None, game: Game | None) -> None:
    if known is not None and game in (None, known.game):
        return
    expected = "".join(f"\n  {dump.sha1}  {dump.title}" for dump in dumps_of(game or "super-mario-bros"))
    raise RomError(
        f"{path} is not a known dump of the game. SHA-1 without the header:\n"
        f"  {cartridge.sha1}  {known.title if known is not None else 'this file'}\n"
        f"expected one of:{expected}\nGive such a file with --rom, leave --rom out to have one found, "
        "or add --allow-unknown-rom to play this one"
    )


def fetch_roms(cache: CacheDir, download: Callable[[Path], Path]) -> None:
    """Takes every known ROM out of the package's wheel and keeps it in the cache, named by its hash."""
    LOG.info("no ROM found yet: taking it from the package %s %s (200 kB, once)", PACKAGE, PACKAGE_VERSION)
    with tempfile.TemporaryDirectory(prefix="mario-rom-") as temporary:
        try:
            wheel = download(Path(temporary))
            for cartridge in _cartridges_in(wheel):
                if identify(cartridge.sha1) is not None:
                    write_durably(cache.folder("roms") / f"{cartridge.sha1}.nes", cartridge.file, mode=0o600)
        except (OSError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
            raise RomError(
                f"the game's ROM is not here and could not be fetched: {error}\n{_what_to_do(cache)}"
            ) from error


def download_wheel(folder: Path) -> Path:
    """Downloads the package's wheel, and nothing it depends on, with this Python's pip."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{PACKAGE}=={PACKAGE_VERSION} --hash=sha256:{_WHEEL_SHA256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    choice = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement", str(requirement)]
    done = subprocess.run(
        [*pip, *choice, "--dest", str(folder)],
        cwd=folder,  # not where the user stands: modules there would be imported
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DOWNLOAD_TIMEOUT_SECONDS,
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise OSError("pip said: " + (complaints[-1] if complaints else done.stderr.strip()[-300:] or "nothing"))
    return wheels[0]


def _installed_rom_folder() -> Path | None:
    """The package's folder of ROMs. The package is found without being imported: importing it needs gym."""
    spec = importlib.util.find_spec("gym_super_mario_bros")
    if spec is None or spec.origin is None or not spec.submodule_search_locations:
        return None  # without an origin it is a mere folder of that name
    return Path(spec.submodule_search_locations[0]) / "_roms"


def _readable_cartridges(folder: Path | None) -> Iterator[tuple[Path, Cartridge]]:
    """What can be played among the .nes files of a folder; newer packages hold games of other boards, too."""
    for path in sorted(folder.glob("*.nes")) if folder is not None else []:
        if not path.is_file():
            continue
        try:
            yield path, read_cartridge(path)
        except RomError as error:
            LOG.info("passed over: %s", error)


def _cartridges_in(wheel: Path) -> Iterable[Cartridge]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".nes"):
                yield parse_cartridge(archive.read(name))


def _what_to_do(cache: CacheDir) -> str:
    return (
        "Do one of these:\n"
        f"  - connect to the internet and run `mario rom` again (it runs `pip download {PACKAGE}=={PACKAGE_VERSION}`)\n"
        f"  - name your own dump with `--rom FILE`, or copy it into {cache.root / 'roms'}\n"
        f"  - on another machine run `pip download --no-deps {PACKAGE}=={PACKAGE_VERSION}`, unpack the .whl (it is a "
        f"zip file)\n    and copy gym_super_mario_bros/_roms/super-mario-bros.nes into {cache.root / 'roms'}"
    )
