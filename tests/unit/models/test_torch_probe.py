"""The probe against stand-ins for Python that die as real machines were seen to."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.models import torch_probe
from mario_a3c.models.torch_probe import TorchError, describe_torch, probe_cpu_bfloat16

SIGILL_UNLESS_LIMITED = 'if [ "$ONEDNN_MAX_CPU_ISA" = AVX512_CORE_BF16 ]; then exit 0; fi; kill -ILL $$'


@pytest.fixture
def python_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    log = tmp_path / "calls"

    def install(body: str) -> Path:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\necho call >>'{log}'\n{body}\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))
        log.write_text("")
        return log

    return install


@pytest.mark.parametrize(
    ("body", "support", "reason", "num_calls"),
    [
        ("exit 0", "works", "as it is", 1),
        (SIGILL_UNLESS_LIMITED, "limited", "killed by SIGILL", 2),
        ("echo 'no such kernel' >&2; exit 1", "broken", "no such kernel", 2),
    ],
)
def test_each_outcome_is_found_and_the_good_ones_are_remembered(
    cache: CacheDir, python_that: Callable[[str], Path], body: str, support: str, reason: str, num_calls: int
) -> None:
    log = python_that(body)
    report = probe_cpu_bfloat16(cache, "2.13.0")
    assert report.support == support
    assert reason in report.reason
    assert len(log.read_text().split()) == num_calls
    assert probe_cpu_bfloat16(cache, "2.13.0") == report
    assert len(log.read_text().split()) == (num_calls if support != "broken" else 2 * num_calls)
    assert probe_cpu_bfloat16(None, "2.13.0") == report, "without a cache it is found out each time"


def test_another_torch_and_another_cpu_are_other_questions(
    cache: CacheDir, python_that: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = python_that("exit 0")
    for num_calls, torch_version, cpu in (
        (1, "2.13.0", "a"),
        (2, "2.14.0", "a"),
        (3, "2.14.0", "b"),
        (3, "2.13.0", "a"),
    ):
        monkeypatch.setattr(torch_probe, "cpu_model", lambda cpu=cpu: cpu)
        probe_cpu_bfloat16(cache, torch_version)
        assert len(log.read_text().split()) == num_calls


def test_an_accident_is_not_remembered(cache: CacheDir, python_that: Callable[[str], Path]) -> None:
    python_that("kill -KILL $$")
    assert probe_cpu_bfloat16(cache, "2.13.0").reason == "killed by SIGKILL"
    python_that("exit 0")
    assert probe_cpu_bfloat16(cache, "2.13.0").support == "works"


def test_a_child_that_hangs_is_given_up(python_that: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    python_that("exec sleep 60")
    monkeypatch.setattr(torch_probe, "_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(TorchError, match="no answer within"):
        describe_torch()


def test_modules_where_the_user_stands_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("")
    monkeypatch.chdir(tmp_path)
    done = torch_probe._run_child("import importlib.util as util; print(util.find_spec('torch'))", {})
    assert done.returncode == 0
    assert str(tmp_path) not in done.stdout


@pytest.mark.parametrize("damage", ["", "{", '{"support": 1}', "[]", '{"support": "banana", "reason": "5"}'])
def test_a_damaged_memory_is_probed_again(cache: CacheDir, python_that: Callable[[str], Path], damage: str) -> None:
    log = python_that("exit 0")
    probe_cpu_bfloat16(cache, "2.13.0")
    assert len(log.read_text().split()) == 1
    (kept,) = cache.folder("probes").iterdir()
    kept.write_text(damage)
    assert probe_cpu_bfloat16(cache, "2.13.0").support == "works"
    assert len(log.read_text().split()) == 2


def test_a_python_without_torch_says_why(python_that: Callable[[str], Path]) -> None:
    python_that("echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1")
    with pytest.raises(TorchError, match="No module named 'torch'"):
        describe_torch()


@pytest.mark.slow
def test_the_real_torch_answers(cache: CacheDir) -> None:
    torch = describe_torch()
    assert torch.version.startswith("2.")
    assert torch.num_threads >= 1
    assert probe_cpu_bfloat16(cache, torch.version).support in ("works", "limited", "broken")
