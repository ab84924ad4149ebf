from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir, default_cache_root
from mario_a3c.errors import ConfigError, StorageError


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path / "a" / "b"))
    assert cache.root.stat().st_mode & 0o777 == 0o700
    assert cache.folder("roms").stat().st_mode & 0o777 == 0o700
    assert (cache.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="everybody may write"):
        CacheDir.open(CacheConfig(cache_dir=tmp_path))


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
    }
    cache.clear("probes")
    assert {entry.kind: entry.num_files for entry in cache.entries()} == {"roms": 1, "probes": 0}
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
