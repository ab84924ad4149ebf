"""Crashes and power cuts at every moment of saving: what was promised is there, and what is there is whole."""

import json
import os
import random
import shutil
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.checkpoint.choice import Wanted, choose
from mario_a3c.checkpoint.inspection import find_fault
from mario_a3c.checkpoint.names import OWN_FILES
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.durable_file import remove_leftovers, write_durably
from mario_a3c.errors import CheckpointError
from mario_a3c.training.snapshots import SaveCheckpoints
from tests.support.checkpoints import NAMES, is_of_update, small_metadata
from tests.support.faulty_disk import Crash, PoweredDisk, RecordedDisk
from tests.support.saving_trainer import SavingTrainer

SYNCS_PER_SAVE = 4  # the checkpoint, its .json, the run's folder, the folder of all runs


def save_updates(folder: Path, updates: range, disk: RecordedDisk | None = None) -> None:
    """One checkpoint for each of them, two of which are kept; every third is the best so far."""
    folder.mkdir(parents=True, exist_ok=True)
    trainer: Any = SavingTrainer(updates.start - 1)
    with closing(
        SaveCheckpoints(trainer, NAMES, folder, small_metadata(0), interval_seconds=1e-9, num_kept=2)
    ) as saving:
        for update in updates:
            trainer.make_update(clear_rate=0.1 + update * 0.01 if update % 3 == 0 else 0.0)
            assert saving.save() is not None
            if disk is not None:
                disk.note("saved", update)


# A program that ends


def crash_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    save_updates(folder, range(1, 4))
    with RecordedDisk(folder.parent).mounted(monkeypatch) as disk:
        save_updates(folder, range(4, 5))
    return disk.num_operations


def test_a_crash_before_or_after_any_operation_leaves_the_new_or_the_previous_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_operations = crash_points(tmp_path / "count" / "run", monkeypatch)
    assert num_operations > 20
    template = tmp_path / "template"
    save_updates(template / "run", range(1, 4))
    seen = set()
    for point in range(2 * num_operations):
        runs = tmp_path / str(point)
        shutil.copytree(template, runs, symlinks=True)
        disk = RecordedDisk(runs, crash_at=point // 2, is_done_first=bool(point % 2))
        with disk.mounted(monkeypatch), pytest.raises(Crash):
            save_updates(runs / "run", range(4, 5))
        seen.add(check_after_crash(runs / "run"))
        shutil.rmtree(runs)
    assert seen == {3, 4}


def check_after_crash(folder: Path) -> int:
    """The update that a run would go on from. Then it does, and saves again."""
    for path in NAMES.all_numbered(folder):
        load_checkpoint(path)
    choice = choose(Wanted(folder), "this")
    assert choice.skipped == ()
    assert is_of_update(choice.checkpoint.state, choice.update)
    assert load_checkpoint(NAMES.latest(folder.parent)).metadata["update"] in (3, 4)
    best = NAMES.best(folder)
    assert load_checkpoint(best).metadata["update"] == 3
    for place in (folder, folder.parent):
        remove_leftovers(place, OWN_FILES)
        assert not list(place.glob(".*"))
    save_updates(folder, range(choice.update + 1, choice.update + 2))
    assert find_fault(NAMES.numbered(folder, choice.update + 1)) is None
    return choice.update


# A power cut


def traced_saves(runs: Path, monkeypatch: pytest.MonkeyPatch, left_out: int | None = None) -> list[tuple[Any, ...]]:
    disk = RecordedDisk(runs, left_out_sync=left_out, syncs_per_round=SYNCS_PER_SAVE)
    with disk.mounted(monkeypatch):
        save_updates(runs / "run", range(1, 6), disk)
    assert disk.num_syncs == 5 * SYNCS_PER_SAVE
    return disk.trace


def broken_promises(runs: Path, trace: list[tuple[Any, ...]], target: Path, num_seeds: int) -> int:
    """Cuts the power after every event; how often something that was promised is not there, or wrong."""
    count = 0
    for length in range(len(trace) + 1):
        saved = max([event[2] for event in trace[:length] if event[:2] == ("note", "saved")], default=0)
        powered = PoweredDisk(runs, trace[:length])
        for seed in range(num_seeds):
            shutil.rmtree(target, ignore_errors=True)
            powered.cut(target, random.Random(f"{length} {seed}"))
            count += not is_promise_kept(target, saved)
    return count


def is_promise_kept(runs: Path, saved: int) -> bool:
    """A checkpoint that was called saved, or a newer one, is there, is right, has its `.json`, and is the latest."""
    folder = runs / "run"
    if not saved and not folder.exists():
        return True
    try:
        choice = choose(Wanted(folder), "this")
    except CheckpointError:
        return not saved
    # Whatever the power cut left, nothing wrong is ever taken for good.
    assert is_of_update(choice.checkpoint.state, choice.update)
    if not saved:
        return True
    numbered = NAMES.numbered(folder, saved)
    try:
        latest = load_checkpoint(NAMES.latest(runs)).metadata["update"]
    except CheckpointError:
        return False
    return choice.update >= saved and latest >= saved and find_fault(numbered) is None


def test_a_power_cut_takes_nothing_that_was_called_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced_saves(tmp_path / "runs", monkeypatch)
    assert broken_promises(tmp_path / "runs", trace, tmp_path / "cut", num_seeds=1) == 0


@pytest.mark.slow
def test_a_thousand_power_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced_saves(tmp_path / "runs", monkeypatch)
    num_seeds = 1000 // len(trace) + 1
    assert broken_promises(tmp_path / "runs", trace, tmp_path / "cut", num_seeds) == 0


@pytest.mark.parametrize("left_out", range(SYNCS_PER_SAVE))
def test_leaving_out_any_one_sync_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: int) -> None:
    trace = traced_saves(tmp_path / "runs", monkeypatch, left_out)
    assert broken_promises(tmp_path / "runs", trace, tmp_path / "cut", num_seeds=1) > 0


@pytest.mark.parametrize("left_out", [None, 0, 1])
def test_a_small_file_needs_both_its_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: int | None
) -> None:
    root = tmp_path / "run"
    root.mkdir()
    disk = RecordedDisk(root, left_out_sync=left_out, syncs_per_round=2)
    with disk.mounted(monkeypatch):
        for number in range(3):
            write_durably(root / "run.json", json.dumps({"number": number}).encode())
            disk.note("saved", number)
    num_broken = 0
    for length in range(len(disk.trace) + 1):
        promised = max([event[2] for event in disk.trace[:length] if event[0] == "note"], default=-1)
        for seed in range(10):
            target = tmp_path / f"{length}_{seed}"
            target.mkdir()
            PoweredDisk(root, disk.trace[:length]).cut(target, random.Random(seed))
            num_broken += not number_is_at_least(target / "run.json", promised)
    assert (num_broken == 0) == (left_out is None)


def number_is_at_least(path: Path, promised: int) -> bool:
    with suppress(FileNotFoundError, ValueError):
        return bool(json.loads(path.read_text())["number"] >= promised)
    return promised < 0


# kill -9


def kill_savers(repository: Path, folder: Path, num_kills: int, *flags: str) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.support.kill_savers", str(folder), str(num_kills), *flags]
    environment = {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


def expect_unharmed(counts: dict[str, int], num_kills: int) -> None:
    assert counts.pop("kills") == num_kills
    assert counts.pop("kills_while_saving") >= num_kills // 4
    assert counts.pop("saves") >= num_kills // 4
    assert counts.pop("leftovers_swept") >= 0
    assert counts == {"unreadable": 0, "saves_lost": 0, "intervals_lost": 0, "silent_restarts": 0}


def test_kills_at_random_moments_lose_nothing_that_was_saved(tmp_path: Path, repository: Path) -> None:
    expect_unharmed(kill_savers(repository, tmp_path / "run", 16), 16)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_hundred_kills(tmp_path: Path, repository: Path) -> None:
    expect_unharmed(kill_savers(repository, tmp_path / "run", 200), 200)


@pytest.mark.slow
def test_the_kills_find_a_naive_save(tmp_path: Path, repository: Path) -> None:
    """Written in place, without a temporary file: that is what the test is for."""
    assert kill_savers(repository, tmp_path / "run", 60, "--naive")["unreadable"] > 0
