"""Training on the game itself: it can be stopped at any moment, and is the same again whatever steps the consoles."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopReason, StopRequest
from tests.support.game_runs import slowness, small_config
from tests.support.runs import digest_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("overlap", [False, True])
def test_the_consoles_threads_do_not_change_a_run(tmp_path: Path, game_rom: Path, overlap: bool) -> None:
    digests = set()
    for num_threads in (1, 2, 4):
        folder = tmp_path / str(num_threads)
        result = run_training(small_config(folder, game_rom, num_threads=num_threads, overlap=overlap, total_updates=4))
        assert result.checkpoint is not None
        digests.add(digest_of(load_checkpoint(result.checkpoint).state))
    assert len(digests) == 1


def test_a_run_of_the_game_goes_on_to_the_last_bit(tmp_path: Path, game_rom: Path) -> None:
    whole = run_training(small_config(tmp_path / "whole", game_rom, total_updates=6))
    config = small_config(tmp_path / "parts", game_rom, total_updates=6, max_steps=3 * 6 * 8)
    assert run_training(config).reason is StopReason.STEPS
    resumed = small_config(tmp_path / "parts", game_rom, total_updates=6)
    object.__setattr__(resumed.run, "resume", "latest")
    parts = run_training(resumed)
    assert parts.checkpoint is not None
    assert whole.checkpoint is not None
    states = [load_checkpoint(path).state for path in (whole.checkpoint, parts.checkpoint)]
    assert digest_of(states[0]) == digest_of(states[1])


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_stops_within_seconds_and_resumes_without_flags(
    tmp_path: Path, game_rom: Path, number: signal.Signals
) -> None:
    where = ["--save-dir", str(tmp_path / "runs"), "--cache-dir", str(tmp_path / "cache")]
    where += ["--tensorboard-dir", str(tmp_path / "tensorboard")]
    flags = ["--rom", str(game_rom), "--engine", "interpreter", "--num-envs", "8", "--log-interval", "0", *where]
    command = [sys.executable, "-m", "mario_a3c", "train"]
    with subprocess.Popen([*command, "--device", "cpu", *flags], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.startswith("[train] update 1 "))
        process.send_signal(number)
        sent = time.monotonic()
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 75, rest
    assert time.monotonic() - sent < 5 * slowness()
    assert "[train][warn] interrupted" in rest
    described = json.loads((tmp_path / "runs" / "a3c_world1_stage1_latest.json").read_text())
    again = [*command, "--resume", "latest", *where, "--total-updates", str(described["update"] + 1)]
    done = subprocess.run(again, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"goes on from update {described['update']}" in done.stderr
    assert "8 environments" in done.stderr


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_fifty_starts_and_stops_leave_nothing_behind(
    tmp_path: Path, game_rom: Path, one_thread: None, measured: Callable[[str, float, float], None]
) -> None:
    """In turns and overlapped; while things are built, collected, learned from and saved."""
    moments, pauses, num_learned = random.Random(0), [], 0
    for name in ("first", "usual"):  # the first start of a process takes longer than the others
        began = time.monotonic()
        run_training(small_config(tmp_path / name, game_rom, total_updates=1))
    usual_seconds = time.monotonic() - began
    threads, files, children = threading.active_count(), num_open_files(), num_children()
    for index in range(50):
        stop, asked_at = StopRequest(), [0.0]

        def ask(stop: StopRequest = stop, asked_at: list[float] = asked_at) -> None:
            asked_at[0] = time.monotonic()
            stop.set()

        config = small_config(tmp_path / str(index), game_rom, overlap=bool(index % 2))
        timer = threading.Timer(moments.uniform(0.0, 3 * usual_seconds), ask)
        timer.start()
        result = run_training(replace(config, cache=CacheConfig(cache_dir=tmp_path / "first" / "cache")), stop=stop)
        pauses.append(time.monotonic() - asked_at[0])
        timer.join()
        assert result.reason is StopReason.SIGNAL
        num_learned += result.num_updates > 0
        shutil.rmtree(tmp_path / str(index))
    assert num_learned >= 10
    measured("fifty stops: longest, seconds", max(pauses), 5 * slowness())
    measured("fifty stops: threads left", threading.active_count() - threads, 1)
    measured("fifty stops: file handles left", num_open_files() - files, 1)
    measured("fifty stops: processes left", num_children() - children, 1)


def num_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def num_children() -> int:
    return sum(len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children"))
