"""Finding the ROM, played through with home-made cartridges that stand for the known dumps."""

import importlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import RomError
from mario_a3c.native import known_roms, rom
from mario_a3c.native.config import RomConfig
from mario_a3c.native.known_roms import Game, KnownRom
from mario_a3c.native.rom import Rom, download_wheel, find_rom, locate_rom, open_rom
from tests.support.cartridges import make_cartridge, sha1_of, write_cartridge

EUROPE, WORLD, LOST = (make_cartridge(fill=fill) for fill in (1, 2, 3))


@pytest.fixture(autouse=True)
def _home_made_dumps(monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = (
        KnownRom("super-mario-bros", "standard", "Europe", sha1_of(EUROPE)),
        KnownRom("super-mario-bros", "standard", "World", sha1_of(WORLD)),
        KnownRom("lost-levels", "standard", "Lost Levels", sha1_of(LOST)),
    )
    monkeypatch.setattr(known_roms, "KNOWN_ROMS", dumps)
    monkeypatch.setattr(rom, "_installed_rom_folder", lambda: None)


def wheel_with(*files: bytes) -> Callable[[Path], Path]:
    def download(folder: Path) -> Path:
        wheel = folder / "package.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for index, file in enumerate(files):
                archive.writestr(f"gym_super_mario_bros/_roms/{index}.nes", file)
        return wheel

    return download


def offline(_: Path) -> Path:
    raise OSError("pip said: ERROR: no matching distribution")


def locate(cache: CacheDir, config: RomConfig | None = None, game: Game = "super-mario-bros") -> Rom:
    return locate_rom(config or RomConfig(), cache, game=game, download=offline)


def test_a_named_file_wins_over_the_cache(cache: CacheDir, tmp_path: Path) -> None:
    (cache.folder("roms") / "europe.nes").write_bytes(EUROPE)
    named = write_cartridge(tmp_path / "world.nes", fill=2)
    found = locate(cache, RomConfig(rom=named))
    assert (found.path, found.title, found.source) == (named, "World", "--rom")


def test_a_file_put_into_the_cache_is_known_by_its_hash_whatever_its_name(cache: CacheDir) -> None:
    mine = cache.folder("roms") / "my dump.nes"
    mine.write_bytes(WORLD)
    assert locate(cache).path == mine


def test_with_several_dumps_the_first_known_one_is_taken(cache: CacheDir) -> None:
    (cache.folder("roms") / "a.nes").write_bytes(WORLD)
    (cache.folder("roms") / "b.nes").write_bytes(EUROPE)
    assert locate(cache).title == "Europe"
    assert find_rom(RomConfig(), cache, game="lost-levels") is None


def test_an_installed_package_is_used_before_anything_is_fetched(
    cache: CacheDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rom, "_installed_rom_folder", lambda: tmp_path)
    write_cartridge(tmp_path / "super-mario-bros.nes", fill=1)
    assert locate(cache).source == "installed gym-super-mario-bros"


def test_the_package_is_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    package = tmp_path / "gym_super_mario_bros"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('needs gym')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert rom._installed_rom_folder() == package / "_roms"
    (package / "__init__.py").unlink()
    importlib.invalidate_caches()
    assert rom._installed_rom_folder() != package / "_roms", "a mere folder of that name"


def test_what_is_fetched_is_kept_and_found_again_offline(cache: CacheDir) -> None:
    stranger = make_cartridge(fill=99)
    first = locate_rom(RomConfig(), cache, download=wheel_with(stranger, EUROPE, LOST))
    assert first.title == "Europe"
    assert first.path.stat().st_mode & 0o777 == 0o600
    assert {path.stem for path in cache.folder("roms").iterdir()} == {sha1_of(EUROPE), sha1_of(LOST)}
    assert locate(cache).path == first.path
    assert locate(cache, game="lost-levels").title == "Lost Levels"


def test_a_damaged_file_in_the_cache_is_replaced(cache: CacheDir) -> None:
    kept = cache.folder("roms") / f"{sha1_of(EUROPE)}.nes"
    kept.write_bytes(EUROPE[:-1])
    assert locate_rom(RomConfig(), cache, download=wheel_with(EUROPE)).path == kept
    assert kept.read_bytes() == EUROPE


def test_offline_the_user_is_told_every_way_out(cache: CacheDir) -> None:
    with pytest.raises(RomError) as caught:
        locate(cache)
    message = str(caught.value)
    for part in ("no matching distribution", "--rom FILE", str(cache.root / "roms"), "pip download --no-deps"):
        assert part in message


def test_a_download_that_is_no_wheel_is_an_error_for_people(cache: CacheDir) -> None:
    def junk(folder: Path) -> Path:
        (folder / "x.whl").write_bytes(b"<html>")
        return folder / "x.whl"

    with pytest.raises(RomError, match="could not be fetched"):
        locate_rom(RomConfig(), cache, download=junk)


def test_pip_s_own_complaint_reaches_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text(
        "#!/bin/sh\necho \"$PWD $*\" >asked\necho 'WARNING: noise' >&2\necho 'ERROR: No route to host' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(OSError, match="pip said: ERROR: No route to host"):
        download_wheel(tmp_path)
    asked = (tmp_path / "asked").read_text().split()
    assert asked[0] == str(tmp_path), "not where the user stands: modules there would be imported"
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(asked)


def test_a_download_that_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: CacheDir) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    monkeypatch.setattr(rom, "_DOWNLOAD_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(subprocess.TimeoutExpired):
        download_wheel(tmp_path)
    with pytest.raises(RomError, match="could not be fetched"):
        locate_rom(RomConfig(), cache)


def test_a_known_dump_of_another_game_is_refused(cache: CacheDir, tmp_path: Path) -> None:
    lost = write_cartridge(tmp_path / "lost.nes", fill=3)
    with pytest.raises(RomError, match=r"Lost Levels\nexpected one of:\n.*Europe"):
        locate(cache, RomConfig(rom=lost))
    assert locate(cache, RomConfig(rom=lost), game="lost-levels").title == "Lost Levels"
    assert open_rom(lost).title == "Lost Levels"


def test_a_known_dump_with_a_wrong_header_is_not_called_genuine(tmp_path: Path) -> None:
    path = tmp_path / "wrong.nes"
    path.write_bytes(make_cartridge(fill=1, flags=b"\x00"))
    with pytest.raises(RomError, match="Europe with a wrong header"):
        open_rom(path)


def test_only_files_in_the_cache_are_read(cache: CacheDir) -> None:
    os.mkfifo(cache.folder("roms") / "pipe.nes")
    assert find_rom(RomConfig(), cache) is None


def test_another_game_is_refused_with_expected_and_actual_hash(cache: CacheDir, tmp_path: Path) -> None:
    other = write_cartridge(tmp_path / "other.nes", fill=7)
    with pytest.raises(RomError) as caught:
        locate(cache, RomConfig(rom=other))
    for part in (sha1_of(other.read_bytes()), sha1_of(EUROPE), sha1_of(WORLD), "--allow-unknown-rom"):
        assert part in str(caught.value)
    allowed = locate(cache, RomConfig(rom=other, allow_unknown_rom=True))
    assert allowed.known is None
    assert allowed.title == "unknown ROM"
