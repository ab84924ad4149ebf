"""Telemetry of real processes: killed, frozen, and of the game itself."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.metrics.config import MetricsConfig
from mario_a3c.metrics.reader import LineReader, read_records
from mario_a3c.metrics.schema import FIELDS
from mario_a3c.monitoring.health import Health, diagnose
from mario_a3c.training.run import run_training
from tests.support.game_runs import slowness, small_config

pytestmark = pytest.mark.slow

NUM_KILLS = 4


def start(repository: Path, folder: Path, *flags: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.support.corridor_run", str(folder), *flags]
    process = subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def wait_for_checkpoint(run: Path, after: float) -> None:
    """Of this start."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        latest = run / "a3c_world1_stage1_latest.json"
        if latest.exists() and latest.stat().st_mtime > after:
            return
        time.sleep(0.02)
    raise AssertionError("no checkpoint was written")


def test_a_run_that_is_killed_again_and_again_records_every_step_once(repository: Path, tmp_path: Path) -> None:
    run, moments = tmp_path / "runs" / "corridor", random.Random(0)
    for kill in range(NUM_KILLS):
        started = time.time()
        with start(repository, tmp_path, *(["--resume"] if kill else [])) as process:
            wait_for_checkpoint(run, started)
            time.sleep(moments.uniform(0.0, 0.3))
            process.kill()
        assert diagnose(run).health is Health.DIED
    reader = LineReader(run / "metrics.jsonl")
    records = list(reader)
    assert reader.num_skipped <= 1
    updates = [record["update"] for record in records]
    assert updates == list(range(1, len(updates) + 1))
    steps = [record["global_step"] for record in records]
    assert steps == sorted(set(steps))
    assert {record["session"] for record in records} <= set(range(1, NUM_KILLS + 1))
    assert records[-1]["session"] > 1


def seconds_until(run: Path, health: Health, since: float) -> float:
    while diagnose(run).health is not health:
        assert time.time() - since < 60, diagnose(run)
        time.sleep(0.1)
    return time.time() - since


def test_a_frozen_learner_is_seen_within_ten_seconds_and_its_dump_has_every_thread(
    repository: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "corridor"
    with start(repository, tmp_path, "--freeze-at", "20") as process:
        try:
            assert process.stdout is not None
            since = float(process.stdout.readline().split()[1])
            assert seconds_until(run, Health.STALLED, since) < 10 * slowness()
            command = [sys.executable, "-m", "mario_a3c", "status", str(run)]
            said = subprocess.run(command, capture_output=True, text=True, check=False)
            assert said.returncode == 3
            assert "stalled: nothing has moved for" in said.stdout
            (dump,) = run.glob("stall_trace_*.log")
            text = dump.read_text()
            for thread in ("MainThread", "mario-metrics", "mario-monitor"):
                assert f"Thread {thread} " in text
            assert "in freeze" in text
            since = time.time()
            process.send_signal(signal.SIGSTOP)
            assert seconds_until(run, Health.FROZEN, since) < 10 * slowness()
        finally:
            process.kill()
    assert diagnose(run).health is Health.DIED


def test_a_run_of_the_game_costs_little_and_every_field_can_be_read(tmp_path: Path, game_rom: Path) -> None:
    """At the default intervals; longer than a test usually is, because imports at the start count, too."""
    config = small_config(tmp_path, game_rom, planned_updates=100_000, max_seconds=20.0)
    short = replace(config.vector_env, env=replace(config.vector_env.env, max_episode_steps=12))
    metrics = MetricsConfig(tensorboard_dir=tmp_path / "tensorboard")
    run_training(replace(config, vector_env=short, metrics=metrics))
    run = tmp_path / "small"
    records = read_records(run)
    assert len(records) >= 2
    assert records[-1]["telemetry_cpu_share"] < 0.02 * slowness()  # a process that gets less CPU has less to share
    jq = shutil.which("jq")
    if jq is None:
        pytest.skip("jq is not installed")
    for kind, name in (("metrics", "metrics"), ("episode", "episodes"), ("heartbeat", "heartbeat")):
        found = subprocess.run(
            [jq, "-c", "keys_unsorted", run / f"{name}.jsonl"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert found
        assert all(json.loads(keys) == list(FIELDS[kind]) for keys in found)  # type: ignore[index]
