import os
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir, default_cache_root
from mario_a3c.errors import ConfigError, StorageError


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path / "a" / "b"))
    assert cache.root.stat().st_mode & 0o777 == 0o700
    assert cache.folder("roms").stat().st_mode & 0o777 == 0o700
    assert (cache.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_folder_that_others_may_write_to_is_refused(cache: CacheDir, mode: int) -> None:
    cache.folder("probes").chmod(mode)
    with pytest.raises(ConfigError, match="others may write"):
        cache.folder("probes")
    cache.root.chmod(mode)
    with pytest.raises(ConfigError, match="others may write"):
        CacheDir.open(CacheConfig(cache_dir=cache.root))


def test_a_folder_of_somebody_else_is_refused(cache: CacheDir, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(cache.root, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(ConfigError, match="somebody else"):
        CacheDir.open(CacheConfig(cache_dir=cache.root))


def test_nothing_is_removed_from_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "roms").mkdir(mode=0o700)
    (tmp_path / "roms" / "mine").write_text("")
    tmp_path.chmod(0o700)
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path))
    with pytest.raises(ConfigError, match="nothing is removed"):
        cache.clear("roms")
    assert (tmp_path / "roms" / "mine").exists()


def test_what_cannot_be_removed_is_an_error_for_people(cache: CacheDir) -> None:
    (cache.root / "probes").write_text("a file in the way")
    with pytest.raises(StorageError, match="cannot clear"):
        cache.clear("probes")


def test_without_a_home_the_user_is_asked_for_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(ConfigError, match="--cache-dir"):
        default_cache_root()


def test_a_file_in_the_way_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(StorageError, match=r"cache: .* choose another with --cache-dir"):
        CacheDir.open(CacheConfig(cache_dir=tmp_path / "cache"))


def test_clearing_one_kind_touches_nothing_else(cache: CacheDir) -> None:
    (cache.folder("roms") / "a.nes").write_bytes(b"1234")
    (cache.folder("probes") / "b.json").write_bytes(b"12")
    (cache.root / "mine.txt").write_text("the user's own")
    assert {entry.kind: (entry.num_files, entry.num_bytes) for entry in cache.entries()} == {
        "roms": (1, 4),
        "probes": (1, 2),
        "start_states": (0, 0),
        "engines": (0, 0),
        "exploration": (0, 0),
        "kernels": (0, 0),
    }
    cache.clear("probes")
    assert {entry.kind: entry.num_files for entry in cache.entries()} == {
        "roms": 1,
        "probes": 0,
        "start_states": 0,
        "engines": 0,
        "exploration": 0,
        "kernels": 0,
    }
    assert (cache.root / "mine.txt").exists()


def test_a_kind_nobody_declared_is_a_defect(cache: CacheDir) -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        cache.folder("../elsewhere")


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_the_default_ignores_a_variable_that_is_no_absolute_path(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert default_cache_root() == Path.home() / ".cache" / "mario-a3c"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/somebody")
    assert default_cache_root() == Path("/var/cache/somebody/mario-a3c")
