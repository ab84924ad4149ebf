"""The real thing: the ROM out of the real package. Needs the package registry, or the ROM in pip's cache."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mario_a3c.native.known_roms import KNOWN_ROMS

pytestmark = pytest.mark.slow


def rom_command(*arguments: str) -> list[str]:
    """`mario rom` where the package that holds the ROM is not installed."""
    program = (
        "import sys; from mario_a3c.native import rom; rom._installed_rom_folder = lambda: None\n"
        f"from mario_a3c.cli.main import main; sys.exit(main(['rom', *{arguments!r}]))"
    )
    return [sys.executable, "-c", program]


def test_the_rom_is_fetched_once_and_then_found(tmp_path: Path) -> None:
    command = rom_command("--cache-dir", str(tmp_path), "--path")
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    path = Path(first.stdout.strip())
    assert path.stat().st_size == 40976
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert second.stdout == first.stdout
    assert second.stderr == ""
    packaged = {dump.sha1 for dump in KNOWN_ROMS if "World" not in dump.title}
    assert {each.stem for each in path.parent.iterdir()} == packaged


def test_without_a_network_the_user_is_told_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    offline = {
        "PIP_INDEX_URL": nowhere,
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
    }
    command = rom_command("--cache-dir", str(tmp_path))
    done = subprocess.run(command, env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    for part in ("could not be fetched", "--rom FILE", str(tmp_path / "roms")):
        assert part in done.stderr
