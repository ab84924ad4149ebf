"""`mario recompile` with a stand-in compiler."""

from pathlib import Path

import pytest

from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from tests.support.cartridges import make_program_cartridge

COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
echo compiled > "$out"
"""


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    rom, compiler = tmp_path / "program.nes", tmp_path / "compiler"
    rom.write_bytes(make_program_cartridge())
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    return ["--rom", str(rom), "--allow-unknown-rom", "--cache-dir", str(tmp_path / "cache")]


def test_it_compiles_once_and_again_when_asked(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recompile", *flags]) == ExitCode.DONE
    first = capsys.readouterr().out
    assert first.startswith("compiled in")
    path = Path(first.split(": ", 1)[1].strip())
    assert path.read_text() == "compiled\n"
    assert main(["recompile", *flags]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("already compiled (checked in")
    assert main(["recompile", "--again", *flags]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("compiled in")


def test_without_a_compiler_it_says_what_to_install(
    flags: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "nosuchcompiler")
    assert main(["recompile", *flags]) == ExitCode.ENVIRONMENT
    assert "no C++ compiler was found" in capsys.readouterr().err
