"""The ways the package is built: one wheel for every Python, and plain CMake where there is no pip."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),  # a minute here, several on a machine with other work
    pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed"),
]

# Needs nothing but the standard library, so any Python can answer. -S keeps installed packages out.
LOAD = "from mario_a3c.native.library import load_library; print(load_library()._name)"


def copy_sources(repository: Path, folder: Path) -> Path:
    for name in ("src", "native"):
        shutil.copytree(repository / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, folder)
    return folder


def load_with(python: str, package_folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(package_folder)}
    return subprocess.run([python, "-S", "-c", LOAD], env=environment, capture_output=True, text=True, check=False)


def other_pythons() -> Iterator[str]:
    """Working interpreters of other versions than this one, from the PATH and from pyenv."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    pyenv = shutil.which("pyenv")
    if pyenv is not None:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
        folders += Path(root).glob("versions/*/bin")
    for minor in range(10, 15):
        for folder in folders:
            python = folder / f"python3.{minor}"
            if minor != sys.version_info.minor and python.exists() and works(python, minor):
                yield str(python)
                break


def works(python: Path, minor: int) -> bool:
    done = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.startswith(f"Python 3.{minor}.")


def test_one_wheel_serves_every_python(repository: Path, tmp_path: Path) -> None:
    sources = copy_sources(repository, tmp_path / "sources")
    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip_wheel, "--wheel-dir", str(tmp_path), str(sources)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".cpp", ".nes"))]
        archive.extractall(tmp_path / "installed")
    pythons = [sys.executable, *other_pythons()]
    for python in pythons:
        done = load_with(python, tmp_path / "installed")
        assert done.returncode == 0, f"{python}: {done.stderr}"
        assert str(tmp_path / "installed") in done.stdout
    if len(pythons) == 1:
        pytest.skip("the wheel loads here; there is no Python of another version to try")


def test_a_plain_cmake_build_is_found_and_refused_once_it_is_stale(repository: Path, tmp_path: Path) -> None:
    sources = copy_sources(repository, tmp_path)
    configure = ["cmake", "-S", "native", "-B", "build", "-DMARIO_BUILD_TESTS=OFF"]
    absent = load_with(sys.executable, sources / "src")
    assert "has not been built" in absent.stderr
    for command in (configure, ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=sources, check=True, capture_output=True)
    built = load_with(sys.executable, sources / "src")
    assert built.returncode == 0, built.stderr
    assert built.stdout.strip() == str(sources / "build" / "libmario_native.so")

    with open(sources / "native" / "src" / "boundary.cpp", "a") as file:
        file.write("// changed\n")
    assert "stale" in load_with(sys.executable, sources / "src").stderr
    subprocess.run(["cmake", "--build", "build"], cwd=sources, check=True, capture_output=True)
    assert load_with(sys.executable, sources / "src").returncode == 0


def test_the_library_needs_nothing_but_the_c_library(repository: Path) -> None:
    from mario_a3c.native.library import load_library

    needed = subprocess.run(["ldd", load_library()._name], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].split("/")[-1] for line in needed.splitlines()}
    assert not [name for name in names if name.startswith(("libstdc++", "libgcc"))]
