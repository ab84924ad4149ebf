"""The doctor on machines that lack things."""

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.cli import doctor
from mario_a3c.cli.doctor import Arguments, Finding, examine
from mario_a3c.errors import NativeLibraryError
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.models.torch_probe import Bfloat16Report, TorchError, TorchReport
from mario_a3c.native.config import RomConfig
from tests.support.cartridges import write_cartridge
from tests.support.tiny_game import write_tiny_game


@pytest.fixture(autouse=True)
def _a_machine_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "describe_torch", lambda: TorchReport("2.13.0", 2, []))
    monkeypatch.setattr(doctor, "probe_cpu_bfloat16", lambda *_: Bfloat16Report("limited", "killed by SIGILL"))
    monkeypatch.setattr(doctor, "_BACKENDS", {})  # the cartridge of these tests is no game


@pytest.fixture
def arguments(tmp_path: Path) -> Arguments:
    rom = write_cartridge(tmp_path / "game.nes")
    cache = CacheConfig(cache_dir=tmp_path / "cache")
    return Arguments(rom=RomConfig(rom=rom, allow_unknown_rom=True), cache=cache)


def findings(arguments: Arguments) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine(arguments)}


def test_a_whole_machine_fails_in_nothing(arguments: Arguments) -> None:
    found = findings(arguments)
    assert [each for each in found.values() if each.status == "fail"] == []
    assert "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in found["cpu bfloat16"].detail
    assert found["gpu"].status == "warn"
    assert {"python", "compiler", "library", "rom", "torch", "disk", "optuna"} <= found.keys()


def test_a_missing_library_is_a_failure_and_the_rest_is_still_examined(
    arguments: Arguments, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise NativeLibraryError("has not been built; build it with ...")

    monkeypatch.setattr(doctor, "load_library", missing)
    found = findings(arguments)
    assert found["library"] == Finding("fail", "library", "has not been built; build it with ...")
    assert found["torch"].status == "ok"
    assert doctor.main(["--cache-dir", str(arguments.cache.cache_dir)]) == 3
    assert "to be mended first: library" in capsys.readouterr().out


def test_a_missing_torch_names_the_remedy(arguments: Arguments, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise TorchError("No module named 'torch'")

    monkeypatch.setattr(doctor, "describe_torch", missing)
    assert "pip install -r requirements.txt" in findings(arguments)["torch"].detail


def test_a_rom_that_cannot_be_used_fails_and_a_missing_one_warns(arguments: Arguments, tmp_path: Path) -> None:
    short = tmp_path / "short.nes"
    short.write_bytes(b"NES\x1a")
    broken = Arguments(rom=RomConfig(rom=short), cache=arguments.cache)
    assert findings(broken)["rom"].status == "fail"
    absent = findings(Arguments(cache=arguments.cache))["rom"]
    assert absent.status in ("ok", "warn")  # ok where the package that holds it is installed
    if absent.status == "warn":
        assert "mario rom" in absent.detail


def test_no_compiler_and_little_disk_are_priced(arguments: Arguments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000_000))
    found = findings(arguments)
    assert found["compiler"].status == "warn"
    assert "apt-get install g++" in found["compiler"].detail
    assert found["disk"].status == "warn"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    assert findings(arguments)["disk"].status == "fail"


def test_an_untested_python_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    assert doctor.check_python().status == "warn"


def test_every_optional_package_has_its_extra(repository: Path) -> None:
    tomllib = pytest.importorskip("tomllib", reason="new in Python 3.11")
    extras = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tests_alone = {"dev", "browser"}
    assert {extra for _, _, extra in doctor.OPTIONAL_PACKAGES} == extras.keys() - tests_alone
    packages = [package for package, _, _ in doctor.OPTIONAL_PACKAGES]
    assert len(set(packages)) == len(packages)


def test_an_unusable_cache_folder_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = findings(Arguments(cache=CacheConfig(cache_dir=tmp_path / "file")))
    assert found["cache"].status == "fail"
    assert found["torch"].status == "ok"
    assert found["disk"].status == "ok"


@pytest.mark.parametrize("content", ["not a program", "#!/bin/sh\nprintf '\\377\\376'", "#!/bin/sh\n"])
def test_a_strange_compiler_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    (tmp_path / "badcc").write_text(content)
    (tmp_path / "badcc").chmod(0o755)
    monkeypatch.setenv("CXX", str(tmp_path / "badcc"))
    (finding,) = doctor.failing("compiler", doctor.check_compiler)
    assert finding.subject == "compiler"
    monkeypatch.setenv("CXX", str(tmp_path / "nowhere"))
    (finding,) = doctor.check_compiler()
    assert finding.status == "warn"
    assert "CXX names" in finding.detail


def test_a_folder_that_has_gone_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    (finding,) = doctor.failing("disk", doctor.check_disk)
    assert finding.status == "fail"


def test_a_folder_of_the_same_name_is_not_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mere_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(doctor, "OPTIONAL_PACKAGES", (("mere_folder", "mirror", "wandb"),))
    assert [finding.status for finding in doctor.check_optional_packages()] == ["note"]


@pytest.mark.usefixtures("one_thread")
def test_the_model_is_built_and_measured_when_asked_for(arguments: Arguments) -> None:
    assert "model" not in findings(arguments)
    asked = replace(arguments, show_model=True, execution=ExecutionConfig(device="cpu"))
    found = findings(asked)
    assert "nature, memory none: 1,688,232 parameters, 9,347,072 multiply-adds per decision" in found["model"].detail
    assert "float32" in found["execution"].detail
    gru = replace(asked, model=ModelConfig(backbone="impala", recurrent_type="gru"))
    assert "1,024 bytes of memory" in findings(gru)["model"].detail
    absent = replace(asked, execution=ExecutionConfig(device="cuda:99"))
    assert findings(absent)["model"].status == "fail"


def test_an_environment_is_made_and_stepped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_BACKENDS", {"native": None, "fc-emulator": "no_such_package"})
    rom = RomConfig(rom=write_tiny_game(tmp_path), allow_unknown_rom=True)
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path / "cache"))
    (finding,) = doctor.check_environments(rom, cache)
    assert finding.status == "ok", finding.detail
    assert finding.detail.startswith("native: made and stepped in")


def test_an_environment_that_blocks_leaves_its_stack() -> None:
    hang = (
        "import time; from mario_a3c.envs import trial; trial.make_and_step = lambda *_: time.sleep(60); "
        "trial.main(['--rom', 'x', '--cache-dir', 'x', '--seconds', '0.2'])"
    )
    finding = doctor.try_environment("native", [sys.executable, "-c", hang], 20.0)
    assert finding.status == "fail"
    assert "blocks" in finding.detail
    assert "trial.py" in finding.detail, "where it blocks"


def test_an_environment_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_BACKENDS", {"fc-emulator": None})
    cache = CacheDir.open(CacheConfig(cache_dir=tmp_path / "cache"))
    rom = RomConfig(rom=write_tiny_game(tmp_path), allow_unknown_rom=True)
    (finding,) = doctor.check_environments(rom, cache)
    assert finding.status == "warn", "training does not need it"
    assert "fc_emulator cannot be imported" in finding.detail


def test_only_packages_that_something_here_uses_are_missed(repository: Path) -> None:
    names = [name for name, *_ in doctor.OPTIONAL_PACKAGES]
    assert len(set(names)) == len(names)
    sources = [path for path in (repository / "src").rglob("*.py") if path.name != "doctor.py"]
    text = "\n".join(path.read_text() for path in sources)
    by_others = {"moviepy"}  # Gymnasium's
    unused = [name for name in names if not re.search(rf"(import |[\"']){name}\b", text)]
    assert set(unused) <= by_others
