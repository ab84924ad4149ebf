"""A cartridge for tests of the console."""

from pathlib import Path

import pytest

from tests.support.cartridges import make_program_cartridge


@pytest.fixture
def rom_path(tmp_path: Path) -> Path:
    """A program of our own, which counts frames and reads the controller."""
    path = tmp_path / "program.nes"
    path.write_bytes(make_program_cartridge())
    return path
