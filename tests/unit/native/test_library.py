import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from mario_a3c.errors import NativeLibraryError
from mario_a3c.native import library
from mario_a3c.native.bindings import ABI_VERSION, RECORDS, SIGNATURES


@pytest.fixture
def native(repository: Path) -> Path:
    return repository / "native"


def compile_library(folder: Path, source: str) -> Path:
    (folder / "fake.c").write_text(source)
    result = folder / library.FILE_NAME
    subprocess.run(["cc", "-shared", "-fPIC", "-o", result, folder / "fake.c"], check=True)
    return result


def fake_library(folder: Path, *, abi: int = ABI_VERSION, wrong_record: str = "", source_hash: str = "") -> Path:
    """A library with every function of ours, of which only the checks at loading give an answer."""
    answers = {name: ctypes.sizeof(record) - (name == wrong_record) for name, record in RECORDS.items()}
    answers["mario_abi_version"] = abi
    names = SIGNATURES.keys() - {"mario_source_hash"}
    numbers = "\n".join(f"unsigned long {name}() {{ return {answers.get(name, 0)}; }}" for name in names)
    return compile_library(folder, f'{numbers}\nconst char* mario_source_hash() {{ return "{source_hash}"; }}\n')


def test_the_built_library_fits_these_sources(native: Path) -> None:
    loaded = library.load_library()
    assert loaded.mario_source_hash().decode() == library.source_hash(native)


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
    path = fake_library(tmp_path, abi=ABI_VERSION + 1)
    with pytest.raises(NativeLibraryError, match=f"version {ABI_VERSION + 1} of the boundary"):
        library.open_library(path)


@pytest.mark.parametrize("record", RECORDS)
def test_a_library_with_another_record_is_refused(tmp_path: Path, record: str) -> None:
    path = fake_library(tmp_path, wrong_record=record)
    with pytest.raises(NativeLibraryError, match=rf"has a {RECORDS[record].__name__} of \d+ bytes, not"):
        library.open_library(path)


def test_a_library_older_than_its_sources_is_refused(tmp_path: Path) -> None:
    path = fake_library(tmp_path, source_hash="0" * 64)
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
    stale = fake_library(tmp_path, abi=0)
    fitting = next(library.candidates())
    monkeypatch.setattr(library, "candidates", lambda: iter([stale, fitting]))
    assert library.load_library.__wrapped__()._name == str(fitting)
    monkeypatch.setattr(library, "candidates", lambda: iter([stale]))
    with pytest.raises(NativeLibraryError, match=r"no native library fits:\n.*\nbuild it with"):
        library.load_library.__wrapped__()
    monkeypatch.setattr(library, "candidates", lambda: iter([]))
    with pytest.raises(NativeLibraryError, match="has not been built"):
        library.load_library.__wrapped__()
