"""The README's example of an environment is a program that runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_example_plays_and_saves_a_picture(repository: Path, game_rom: Path, tmp_path: Path) -> None:
    section = (repository / "README.md").read_text().partition("## The environments")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    program = match[1]
    assert len([line for line in program.splitlines() if line.strip()]) <= 11
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mario.png").read_bytes()[:4] == b"\x89PNG"
