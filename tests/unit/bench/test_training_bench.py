"""What is measured of training is what was trained after the warm-up."""

import csv
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.bench import training
from mario_a3c.bench.training import Mode, in_mode, measure
from mario_a3c.cache_dir import CacheDir
from mario_a3c.monitoring.nvml import GpuSample
from tests.support.runs import NUM_ENVS, corridor_config, play_the_corridor

OVERLAP_COLUMNS = (
    "mode num_envs rollout steps_per_sec steps_per_sec_mean updates_per_sec_mean replay_fill_final gpu_util_mean "
    "gpu_util_mean_window duration_sec"
)


@pytest.mark.parametrize("mode", ["sync", "overlap"])
def test_training_is_measured_after_its_warm_up(
    mode: Mode, tmp_path: Path, cache: CacheDir, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    play_the_corridor(monkeypatch)
    config = in_mode(corridor_config(tmp_path), mode)
    config = replace(config, replay=replace(config.replay, per=True, per_capacity=64, per_batch=4))
    speed = measure("corridor", config, cache, seconds=0.2, warmup_share=0.5)
    assert (speed.mode, speed.num_envs, speed.rollout_steps) == (mode, NUM_ENVS, 16)
    assert speed.steps_per_second == pytest.approx(speed.updates_per_second * 16 * NUM_ENVS, rel=0.01)
    assert 0 < speed.consoles < 1
    assert 0 < speed.replay_fill <= 1
    assert (speed.waiting > 0) == (mode == "overlap")


def script(repository: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "scripts/benchmark_overlap.py", *flags]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def test_the_overlap_script_knows_both_spellings(repository: Path) -> None:
    for flags in (
        ["--num-envs-list", "4", "8", "--rollout-list", "16", "--warmup-frac", "0.5"],
        ["--num_envs_list", "4,8", "--rollout_list", "16", "--warmup_frac", "0.5"],
    ):
        done = script(repository, *flags, "--dry-run")
        assert done.stdout.count("would measure") == 4
        assert all(line.startswith("[benchmark] ") for line in done.stdout.splitlines())
        assert "would measure overlap, 8 environments x 16 steps" in done.stdout
    assert script(repository, "--rollout-list", "many").returncode == 2


@pytest.mark.slow
def test_the_overlap_script_writes_the_documented_columns(repository: Path, tmp_path: Path, game_rom: Path) -> None:
    small = ["--num-envs-list", "4", "--rollout-list", "8", "--seconds", "1", "--device", "cpu"]
    done = script(repository, *small, "--rom", str(game_rom), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("bench_overlap_*.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == OVERLAP_COLUMNS.split()
    assert [row["mode"] for row in rows] == ["sync", "overlap"]
    assert all(float(row["steps_per_sec"]) > 0 for row in rows)


class BusyGpu:
    is_closed = False

    def sample(self) -> GpuSample:
        return GpuSample(util_percent=50.0, mem_used_mb=1.0, temperature_c=None, power_w=None)

    def close(self) -> None:
        self.is_closed = True


def test_the_driver_is_asked_meanwhile_and_left_alone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, deadline = BusyGpu(), time.monotonic() + 10
    monkeypatch.setattr(training, "find_gpu", lambda _: gpu)
    monkeypatch.setattr(training, "_GPU_SAMPLE_SECONDS", 0.001)
    with training.gpu_utilization("cuda") as samples:
        while not samples and time.monotonic() < deadline:
            time.sleep(0.001)
    assert set(samples) == {50.0}
    assert gpu.is_closed
    monkeypatch.setattr(training, "find_gpu", lambda _: None)
    with training.gpu_utilization("cpu") as samples:
        assert samples == []
