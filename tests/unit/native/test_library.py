import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mario_a3c.errors import NativeLibraryError
from mario_a3c.native import library


@pytest.fixture
def native(repository: Path) -> Path:
    return repository / "native"


def compile_library(folder: Path, source: str) -> Path:
    (folder / "fake.c").write_text(source)
    result = folder / library.FILE_NAME
    subprocess.run(["cc", "-shared", "-fPIC", "-o", result, folder / "fake.c"], check=True)
    return result


def fake_library(folder: Path, *, abi: int, record_bytes: int, source_hash: str) -> Path:
    names = [name for name in library.SIGNATURES if name not in ("mario_abi_version", "mario_source_hash")]
    others = "\n".join(f"unsigned long {name}() {{ return {record_bytes}; }}" for name in names)
    version = f"unsigned mario_abi_version() {{ return {abi}; }}"
    sources = f'const char* mario_source_hash() {{ return "{source_hash}"; }}'
    return compile_library(folder, f"{others}\n{version}\n{sources}\n")


def test_the_built_library_fits_these_sources(native: Path) -> None:
    loaded = library.load_library()
    assert loaded.mario_source_hash().decode() == library.source_hash(native)


def test_every_function_of_the_header_is_declared_and_no_other(native: Path) -> None:
    header = (native / "include" / "mario_native.h").read_text()
    assert set(re.findall(r"^MARIO_API .*?(\w+)\(", header, re.MULTILINE)) == set(library.SIGNATURES)
    assert re.findall(r"#define MARIO_ABI_VERSION (\d+)", header) == [str(library.ABI_VERSION)]


def test_the_hash_covers_every_source_and_no_test(native: Path, tmp_path: Path) -> None:
    copy = tmp_path / "native"
    shutil.copytree(native, copy)
    before = library.source_hash(copy)
    (copy / "tests" / "cartridge_test.cpp").write_text("changed")
    assert library.source_hash(copy) == before
    for changed in ("CMakeLists.txt", "include/mario_native.h", "src/boundary.cpp", "src/nes/cartridge.cpp"):
        path = copy / changed
        original = path.read_text()
        path.write_text(original + "\n")
        assert library.source_hash(copy) != before, changed
        path.write_text(original)
    assert library.source_hash(copy) == before


def test_a_library_of_another_version_is_refused(tmp_path: Path) -> None:
    path = fake_library(tmp_path, abi=library.ABI_VERSION + 1, record_bytes=16, source_hash="")
    with pytest.raises(NativeLibraryError, match=f"version {library.ABI_VERSION + 1} of the boundary"):
        library.open_library(path)


def test_a_library_with_another_record_is_refused(tmp_path: Path) -> None:
    path = fake_library(tmp_path, abi=library.ABI_VERSION, record_bytes=12, source_hash="")
    with pytest.raises(NativeLibraryError, match="12 bytes, not 16"):
        library.open_library(path)


def test_a_library_older_than_its_sources_is_refused(tmp_path: Path) -> None:
    path = fake_library(tmp_path, abi=library.ABI_VERSION, record_bytes=16, source_hash="0" * 64)
    with pytest.raises(NativeLibraryError, match="stale"):
        library.open_library(path)


def test_a_foreign_or_damaged_library_is_refused(tmp_path: Path) -> None:
    foreign = compile_library(tmp_path, "int something_else() { return 1; }")
    with pytest.raises(NativeLibraryError, match="not the library of this version"):
        library.open_library(foreign)
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(foreign.read_bytes()[:100])
    with pytest.raises(NativeLibraryError, match="cannot be loaded"):
        library.open_library(damaged)


def test_a_fitting_library_is_taken_although_a_stale_one_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = fake_library(tmp_path, abi=0, record_bytes=16, source_hash="")
    fitting = next(library.candidates())
    monkeypatch.setattr(library, "candidates", lambda: iter([stale, fitting]))
    assert library.load_library.__wrapped__()._name == str(fitting)
    monkeypatch.setattr(library, "candidates", lambda: iter([stale]))
    with pytest.raises(NativeLibraryError, match=r"no native library fits:\n.*\nbuild it with"):
        library.load_library.__wrapped__()
    monkeypatch.setattr(library, "candidates", lambda: iter([]))
    with pytest.raises(NativeLibraryError, match="has not been built"):
        library.load_library.__wrapped__()
