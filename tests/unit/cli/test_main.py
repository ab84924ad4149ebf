"""What a user types, and what comes back: text, stream and exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mario_a3c.cache_dir import KINDS, CacheConfig, CacheDir
from mario_a3c.cli import main as cli
from mario_a3c.cli.main import COMMANDS, main
from mario_a3c.cli.scripts import run_script
from mario_a3c.cli.train import build_training_config, parse_args
from mario_a3c.config import TrainingConfig
from mario_a3c.config.presets import preset_config
from mario_a3c.errors import ConfigError, ExitCode, NumericsError, StorageError
from tests.support.cartridges import write_cartridge


def exit_code_of(*argv: str) -> int:
    try:
        return main(argv)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of() == exit_code_of("--help") == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert f"\n  {command.name} " in text


def test_threads_of_torch_sleep_while_they_wait_unless_the_user_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    exit_code_of("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    exit_code_of("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_they_sleep_in_scripts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert run_script("x.py", lambda: int(os.environ.get("OMP_WAIT_POLICY") == "PASSIVE")) == 1


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help(command: cli.Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(command.name, "--help") == 0
    assert f"usage: mario {command.name}" in capsys.readouterr().out


def test_help_needs_no_torch() -> None:
    program = (
        "import sys; from mario_a3c.cli.main import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of("trainn") == ExitCode.USAGE
    assert "perhaps you meant: mario train" in capsys.readouterr().err
    assert exit_code_of("test") == ExitCode.USAGE
    assert "./mario test" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("x"), 2), (NumericsError("x"), 5), (StorageError("x"), 6), (KeyboardInterrupt(), 130)],
)
def test_errors_become_exit_codes_without_a_traceback(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "run_command", fail)
    assert main(["rom"]) == code
    captured = capsys.readouterr().err
    assert captured.startswith("mario: ")
    assert "Traceback" not in captured


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "run_command", fail)
    with pytest.raises(ZeroDivisionError):
        main(["rom"])


def test_a_reader_that_leaves_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for command in ("--help", "train --help", "cache"):
        done = run_with_output_to(writer, command)
        assert (done.returncode, done.stderr) == (0, b""), command
    os.close(writer)


def test_output_that_cannot_be_written_is_an_error_for_people() -> None:
    with open("/dev/full", "wb") as full:
        done = run_with_output_to(full.fileno(), "cache")
    assert done.returncode == ExitCode.STORAGE
    assert done.stderr.startswith(b"mario: the output cannot be written")


def run_with_output_to(handle: int, command: str) -> "subprocess.CompletedProcess[bytes]":
    """As most machines run it: output is buffered."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "mario_a3c", *command.split()],
        env=environment,
        stdout=handle,
        stderr=subprocess.PIPE,
        check=False,
    )


def test_a_missing_package_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "mario_a3c.cli.rom", raising=False)
    monkeypatch.delitem(sys.modules, "mario_a3c.config.command_line", raising=False)
    monkeypatch.setitem(sys.modules, "tyro", None)
    assert exit_code_of("rom") == ExitCode.ENVIRONMENT
    assert "the package tyro is missing" in capsys.readouterr().err


def test_train_writes_the_effective_config_before_anything_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rom = write_cartridge(tmp_path / "mine.nes")
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    flags = ["--rom", str(rom), "--cache-dir", str(tmp_path / "cache"), "--save-dir", str(tmp_path / "runs")]
    assert exit_code_of("train", *flags, "--epochs", "7", "--config-out", str(first)) == ExitCode.ENVIRONMENT
    assert "not a known dump" in capsys.readouterr().err
    exit_code_of("train", "--config", str(first), "--minibatches", "2", "--config-out", str(second))
    before, after = json.loads(first.read_text()), json.loads(second.read_text())
    assert before["rom"] == {"rom": str(rom), "allow_unknown_rom": False}
    assert before["learner"]["epochs"] == 7
    before["learner"]["minibatches"] = 2
    assert after == before


def test_presets_are_where_flags_start_from(tmp_path: Path) -> None:
    for name in ("cpu", "gpu"):
        assert parse_args(["--preset", name]).training == preset_config(name)
    assert parse_args(["--device", "cuda"]).training.preset == "gpu"
    assert parse_args(["--preset", "gpu", "--device", "cpu", "--num-envs", "9"]).training.vector_env.num_envs == 9
    path = tmp_path / "run.json"
    path.write_text('{"preset": "gpu", "learner": {"epochs": 9}}')
    from_file = parse_args(["--config", str(path)]).training
    assert from_file.vector_env == preset_config("gpu").vector_env
    assert from_file.learner.epochs == 9


def test_options_that_do_not_fit_each_other_are_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    assert exit_code_of("train", "--num-envs", "2", "--minibatches", "3", "--save-dir", str(runs)) == ExitCode.USAGE
    assert "--minibatches 2 or fewer" in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert exit_code_of("train", "--per", "--per-burn-in", "64", "--save-dir", str(runs)) == ExitCode.USAGE
    assert not runs.exists()


def test_a_config_file_with_an_unknown_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"rom": {"alow_unknown_rom": true}}')
    assert exit_code_of("train", "--config", str(path)) == ExitCode.USAGE
    assert "perhaps 'rom.allow_unknown_rom' is meant" in capsys.readouterr().err
    assert exit_code_of("train", "--config") == ExitCode.USAGE


def test_rom_reports_or_prints_only_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rom = write_cartridge(tmp_path / "my game.nes")
    flags = ["--rom", str(rom), "--allow-unknown-rom", "--cache-dir", str(tmp_path / "cache")]
    assert exit_code_of("rom", *flags, "--path") == 0
    assert capsys.readouterr().out == f"{rom}\n"
    assert exit_code_of("rom", *flags) == 0
    assert "NROM, 32 KB of program, 8 KB of tiles, vertical mirroring" in capsys.readouterr().out


def test_cache_clear_spares_the_roms_unless_they_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path / "cache"))
    for kind in ("roms", "probes", "engines"):
        (cache.folder(kind) / "x").write_text("x")
    where = ["--cache-dir", str(cache.root)]
    assert exit_code_of("cache", "clear", *where) == 0
    assert (cache.root / "roms" / "x").exists()
    assert not (cache.root / "probes").exists()
    assert exit_code_of("cache", "clear", "roms", *where) == 0
    assert not (cache.root / "roms").exists()
    for wrong in (["clear", "everything"], ["list", "roms"]):
        assert exit_code_of("cache", *wrong, *where) == ExitCode.USAGE
        assert f"takes one of {', '.join(KINDS)}" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--rom", "--cache-dir", "--config", "--config-out"])
@pytest.mark.parametrize("value", ["", "~nosuchuser/x"])
def test_a_path_that_nobody_means_is_refused(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of("train", flag, value) == ExitCode.USAGE
    assert "Traceback" not in capsys.readouterr().err


def test_the_documented_functions_turn_flags_into_a_config() -> None:
    config = build_training_config(parse_args(["--allow-unknown-rom"]))
    assert isinstance(config, TrainingConfig)
    assert config.rom.allow_unknown_rom
