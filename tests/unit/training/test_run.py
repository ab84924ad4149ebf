"""Whole runs: they learn, stop, go on, and are the same again to the last bit."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config.run import BudgetConfig
from mario_a3c.errors import CheckpointError, ConfigError, SetupError
from mario_a3c.run_dir import RunDir
from mario_a3c.training import trainer as trainer_module
from mario_a3c.training.run import run_training
from mario_a3c.training.snapshots import SaveCheckpoints
from mario_a3c.training.stopping import StopReason, StopRequest
from tests.support.runs import NUM_ENVS, corridor_config, digest_of, resumed

pytestmark = pytest.mark.usefixtures("corridor")


def saved_state(folder: Path, name: str = "corridor") -> Any:
    return load_checkpoint(folder / "runs" / name / "a3c_world1_stage1_latest.pt").state


def test_a_run_ends_when_the_stage_is_cleared_reliably(tmp_path: Path) -> None:
    result = run_training(corridor_config(tmp_path, planned_updates=400))
    assert result.reason is StopReason.CLEARED
    assert result.clear_rate >= 0.95
    assert result.num_updates < 400
    assert result.avg_return > 0.7
    assert result.checkpoint is not None
    assert result.checkpoint.resolve().name == f"a3c_world1_stage1_{result.num_updates:07d}.pt"


def test_explicit_updates_are_obeyed_to_the_end(tmp_path: Path) -> None:
    easily: dict[str, Any] = {"clear_window": 1, "planned_updates": 12}
    assert run_training(corridor_config(tmp_path / "first", **easily)).reason is StopReason.CLEARED
    result = run_training(corridor_config(tmp_path / "second", **easily, total_updates=12))
    assert (result.reason, result.num_updates) == (StopReason.UPDATES, 12)
    assert result.num_steps == 12 * 16 * NUM_ENVS


def test_budgets_stop_with_a_snapshot(tmp_path: Path) -> None:
    result = run_training(corridor_config(tmp_path, max_steps=3 * 16 * NUM_ENVS))
    assert (result.reason, result.num_updates, result.reason.exit_code) == (StopReason.STEPS, 3, 75)
    assert result.checkpoint is not None
    config = corridor_config(tmp_path / "second", max_seconds=1e-6)
    assert run_training(config).reason is StopReason.SECONDS
    config = corridor_config(tmp_path / "third", planned_updates=2)
    assert run_training(config).reason is StopReason.PLAN


@pytest.mark.parametrize("overlap", [False, True])
def test_two_runs_with_one_seed_are_the_same_to_the_last_bit(tmp_path: Path, overlap: bool) -> None:
    collector = CollectorConfig(rollout_steps=16, overlap_collect=overlap)
    digests = []
    for name in ("a", "b"):
        run_training(corridor_config(tmp_path / name, collector=collector, total_updates=6))
        digests.append(digest_of(saved_state(tmp_path / name)))
    assert digests[0] == digests[1]


def test_twenty_and_twenty_updates_are_forty(tmp_path: Path) -> None:
    short = CollectorConfig(rollout_steps=6)
    run_training(corridor_config(tmp_path / "whole", collector=short, total_updates=40))
    config = corridor_config(tmp_path / "parts", collector=short, total_updates=40, max_steps=20 * 6 * NUM_ENVS)
    assert run_training(config).num_updates == 20
    half = digest_of(saved_state(tmp_path / "parts"))
    assert run_training(resumed(config)).num_updates == 40
    assert digest_of(saved_state(tmp_path / "parts")) == digest_of(saved_state(tmp_path / "whole")) != half


def stop_after(request: StopRequest, num_calls: int) -> Any:
    """A stop that comes while something is going on: at the n-th place where an update could be left."""
    calls = 0
    real = request.abandon_if_set

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == num_calls:
            request.set()
        real()

    return count


@pytest.mark.parametrize("num_calls", [5, 18, 20, 45, 57, 59])
def test_an_abandoned_update_leaves_no_trace(tmp_path: Path, num_calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle of collecting or learning, and resumed, a run equals one that was never stopped."""
    monkeypatch.setattr(trainer_module, "_LONG_UPDATE_SECONDS", -1.0)
    run_training(corridor_config(tmp_path / "whole", total_updates=6))
    config = corridor_config(tmp_path / "parts", total_updates=6)
    request = StopRequest()
    monkeypatch.setattr(request, "abandon_if_set", stop_after(request, num_calls))
    result = run_training(config, stop=request)
    assert result.reason is StopReason.SIGNAL
    assert result.num_updates == (num_calls - 1) // 20  # sixteen steps and four minibatches each
    if result.num_updates:
        run_training(resumed(config))
        assert digest_of(saved_state(tmp_path / "parts")) == digest_of(saved_state(tmp_path / "whole"))


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_a_snapshot_and_the_handlers_are_put_back(
    tmp_path: Path, number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    before = signal.getsignal(number)
    request = StopRequest()
    real = request.abandon_if_set
    calls: list[None] = []

    def kill_after_three_updates() -> None:
        calls.append(None)
        if len(calls) == 3 * 20:
            os.kill(os.getpid(), number)
        real()

    request.abandon_if_set = kill_after_three_updates  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING, "mario.train"):
        result = run_training(corridor_config(tmp_path), stop=request)
    assert (result.reason, result.reason.exit_code) == (StopReason.SIGNAL, 75)
    assert load_checkpoint(result.checkpoint or Path()).metadata["update"] == result.num_updates == 3
    assert "interrupted" in caplog.text
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("heard_signals")
def test_a_second_interrupt_ends_the_process_at_once() -> None:
    program = (
        "import os, signal, time\n"
        "from mario_a3c.training.stopping import StopRequest\n"
        "stop = StopRequest()\n"
        "with stop.on_signals():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    assert stop.is_set\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 130


def test_the_folder_says_what_a_run_is_and_the_flat_path_leads_to_it(tmp_path: Path) -> None:
    config = corridor_config(tmp_path, total_updates=2)
    run_training(config)
    record = json.loads((tmp_path / "runs" / "corridor" / "run.json").read_text())
    assert (record["status"], record["reason"], record["update"]) == ("finished", "updates", 2)
    assert record["config"]["budget"]["total_updates"] == 2
    assert os.readlink(tmp_path / "runs" / "a3c_world1_stage1_latest.pt") == "corridor/a3c_world1_stage1_latest.pt"
    plain = torch.load(tmp_path / "runs" / "a3c_world1_stage1_latest.pt", weights_only=True)
    assert json.loads(plain["metadata"])["global_step"] == 2 * 16 * NUM_ENVS
    described = json.loads((tmp_path / "runs" / "a3c_world1_stage1_latest.json").read_text())
    assert described["global_step"] == 2 * 16 * NUM_ENVS


def test_a_run_is_never_silently_continued_or_begun_anew(tmp_path: Path) -> None:
    config = corridor_config(tmp_path, total_updates=1)
    run_training(config)
    with pytest.raises(ConfigError, match=r"--resume latest --run-name corridor.*--fresh"):
        run_training(config)
    fresh = replace(config, run=replace(config.run, fresh=True))
    run_training(fresh)
    runs = [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
    assert len(runs) == 2
    assert all((path / "run.json").exists() for path in runs)
    with RunDir(tmp_path / "runs" / "corridor").locked(), pytest.raises(SetupError, match="is locked by pid"):
        run_training(resumed(config, total_updates=2))
    with pytest.raises(CheckpointError, match="has no runs"):
        run_training(resumed(corridor_config(tmp_path / "elsewhere")))


def test_old_checkpoints_are_removed_and_nothing_is_saved_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SaveCheckpoints, "run_if_due", SaveCheckpoints.save)  # a slow disk would skip some
    config = corridor_config(tmp_path, total_updates=6)
    often = replace(config.run, save_interval=1e-9, keep_checkpoints=2)
    run_training(replace(config, run=often))
    names = sorted(path.name for path in (tmp_path / "runs" / "corridor").glob("*_0*"))
    assert names == [f"a3c_world1_stage1_000000{n}.{kind}" for n in (5, 6) for kind in ("json", "pt")]


def test_progress_lines_say_how_it_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mario"):
        run_training(corridor_config(tmp_path, total_updates=3))
    lines = [record.getMessage() for record in caplog.records if record.name == "mario.train"]
    last = next(line for line in lines if line.startswith("update 3 of 3"))
    for word in ("steps/s", "clear rate", "return", "furthest", "ETA", "consoles", "acting", "learning", "waiting"):
        assert word in last


@pytest.mark.parametrize(("progress", "text"), [("position", r"furthest \d+[,;]"), ("map", r"furthest \d+%[,;]")])
def test_lines_name_progress_in_the_unit_of_the_run(
    progress: Literal["position", "map"], text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = corridor_config(tmp_path, total_updates=2)
    env = replace(config.vector_env.env, progress=progress)
    with caplog.at_level(logging.INFO, "mario"):
        run_training(replace(config, vector_env=replace(config.vector_env, env=env)))
    lines = [line for line in caplog.messages if "furthest" in line]
    assert len(lines) >= 2, "on the way and at the end"
    assert all(re.search(text, line) for line in lines)


def test_the_target_applies_where_no_number_of_updates_was_given() -> None:
    assert BudgetConfig().clear_rate_to_reach == 0.95
    assert BudgetConfig(total_updates=5).clear_rate_to_reach is None
    assert BudgetConfig(total_updates=5, target_clear_rate=0.5).clear_rate_to_reach == 0.5
    for wrong in ({"total_updates": 0}, {"max_seconds": 0.0}, {"target_clear_rate": 1.5}, {"clear_window": 0}):
        with pytest.raises(ConfigError, match="--"):
            BudgetConfig(**wrong)
