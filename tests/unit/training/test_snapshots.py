"""Saving beside training: training waits for the copy alone, and a disk that fails is no end at once."""

import errno
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.checkpoint.choice import Wanted, choose
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.errors import NumericsError, StorageError
from mario_a3c.training.snapshots import SaveCheckpoints, save_model_snapshot
from tests.support.checkpoints import NAMES, is_of_update, small_metadata, small_state
from tests.support.saving_trainer import SavingTrainer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "run"
    path.mkdir(parents=True)
    return path


def saving_of(trainer: Any, folder: Path, **more: Any) -> SaveCheckpoints:
    options: dict[str, Any] = {"interval_seconds": 1e-9, "num_kept": 3, **more}
    return SaveCheckpoints(trainer, NAMES, folder, small_metadata(0), **options)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def saved_updates(folder: Path) -> list[int]:
    return [int(path.stem[-7:]) for path in NAMES.all_numbered(folder)]


def test_training_goes_on_while_a_slow_disk_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One save at a time; what is written is the state at its beginning, whatever training does meanwhile."""
    release, started = threading.Event(), threading.Event()
    real = os.fsync

    def slow(handle: int) -> None:
        started.set()
        assert release.wait(20)
        real(handle)

    monkeypatch.setattr(os, "fsync", slow)
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        saving.run_if_due()
        assert started.wait(20)
        for _ in range(5):
            trainer.make_update()
            saving.run_if_due()
        assert saved_updates(folder) == []
        release.set()
        wait_until(lambda: saved_updates(folder) == [1])
        assert saving.save() == NAMES.numbered(folder, 6)
    assert saved_updates(folder) == [1, 6]
    assert is_of_update(load_checkpoint(NAMES.numbered(folder, 1)).state, 1)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("checkpoint")]


@pytest.mark.slow
def test_the_loop_stalls_no_longer_than_two_copies_of_the_state(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 MB, on a disk that takes 50 ms for every write. The shortest counts: other programs run here, too."""
    real = os.write

    def slow(handle: int, content: Any) -> int:
        time.sleep(0.05)
        return real(handle, content)

    trainer = SavingTrainer(num_values=5_000_000)
    copies, stalls = [], []
    for _ in range(5):
        started = time.perf_counter()
        trainer.state()
        copies.append(time.perf_counter() - started)
    monkeypatch.setattr(os, "write", slow)
    with closing(saving_of(trainer, folder)) as saving:
        for _ in range(3):
            trainer.make_update()
            started = time.perf_counter()
            saving.run_if_due()
            stalls.append(time.perf_counter() - started)
            under_way = saving._under_way
            assert under_way is not None
            under_way.result()
    assert min(stalls) < 2 * sorted(copies)[2] + 0.01


def test_the_last_ones_and_the_best_are_kept(folder: Path) -> None:
    trainer = SavingTrainer()
    rates = [0.0, 0.4, 0.9, 0.5, 0.9, 0.8, 0.1, 0.2]
    with closing(saving_of(trainer, folder, num_kept=2)) as saving:
        for rate in rates:
            trainer.make_update(rate)
            saving.save()
    assert NAMES.best(folder).resolve() == NAMES.numbered(folder, 5)
    assert saved_updates(folder) == [5, 7, 8]
    trainer.make_update(0.85)
    with closing(saving_of(trainer, folder, num_kept=2)) as resumed:
        trainer.make_update(0.85)
        resumed.save()
        assert NAMES.best(folder).resolve() == NAMES.numbered(folder, 5)
        trainer.make_update(0.95)
        trainer.progress.is_window_full = False  # one lucky episode is no record
        resumed.save()
    assert NAMES.best(folder).resolve() == NAMES.numbered(folder, 5)


def test_nothing_is_saved_twice(folder: Path) -> None:
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        assert saving.save() is None
        trainer.make_update()
        assert saving.save() == NAMES.numbered(folder, 1)
        assert saving.save() is None
    before = NAMES.numbered(folder, 1).stat()
    save_model_snapshot(folder, NAMES, lambda: small_state(1), small_metadata(1), variant="latest")
    assert NAMES.numbered(folder, 1).stat().st_mtime_ns == before.st_mtime_ns


def test_weights_that_are_not_finite_are_never_saved(folder: Path) -> None:
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        saving.save()
        trainer.make_update()
        trainer.parts.state = lambda: {"learner": {"model": {"w": torch.tensor([1.0, float("nan")])}}}
        with pytest.raises(NumericsError, match=r"learner\.model\.w is not finite"):
            saving.save()
    assert saved_updates(folder) == [1]


# Disks that fail


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, operation: str, number: int, at: int = 0) -> Iterator[None]:
    """The n-th call of an operation, counted from here, and all after it answer with an error."""
    calls = 0
    real = getattr(os, operation)

    def fail(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > at:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, operation, fail)
        yield


FAULTS = [
    *[("write", errno.ENOSPC, at) for at in (0, 1)],
    *[("fsync", errno.EIO, at) for at in (0, 1, 2, 3)],
    *[("replace", errno.EROFS, at) for at in (0, 1, 2, 3, 4, 5)],
    *[("symlink", errno.EDQUOT, at) for at in (0, 1, 2, 3)],
    ("open", errno.EACCES, 0),
]


@pytest.mark.parametrize(("operation", "number", "at"), FAULTS)
def test_a_fault_anywhere_is_no_saved_checkpoint_and_leaves_the_last_good_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    operation: str, number: int, at: int,
) -> None:  # fmt: skip
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        saving.save()
        trainer.make_update()
        caplog.set_level(logging.INFO, "mario")
        caplog.clear()
        with (
            failing(monkeypatch, operation, number, at),
            pytest.raises(StorageError, match=os.strerror(number)) as error,
        ):
            saving.save()
        assert "saved" not in caplog.text
        assert "bytes needed" in str(error.value)
        assert not list(folder.parent.rglob("*.tmp"))
        assert choose(Wanted(folder), "this").update in (1, 2)
        assert is_of_update(load_checkpoint(NAMES.latest(folder.parent)).state, 1) or at > 0
        trainer.make_update()
        assert saving.save() == NAMES.numbered(folder, 3)
    assert choose(Wanted(folder), "this").update == 3


def try_three_times(trainer: SavingTrainer, saving: SaveCheckpoints) -> None:
    for _ in range(10_000):
        trainer.make_update()
        saving.run_if_due()
        time.sleep(0.001)


def test_the_third_failure_in_a_row_ends_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        saving.save()
        with failing(monkeypatch, "write", errno.ENOSPC), pytest.raises(StorageError) as error:
            try_three_times(trainer, saving)
    words = str(error.value)
    assert error.value.exit_code == 6
    assert str(folder) in words
    assert "bytes needed" in words
    assert "free" in words
    assert "the last good checkpoint is" in words
    assert "0000001.pt" in words
    assert caplog.text.count("not saved, next try in") == 2
    assert saved_updates(folder) == [1]


def test_a_disk_that_recovers_is_forgiven(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        for _ in range(3):
            with failing(monkeypatch, "write", errno.ENOSPC):
                for _ in range(2):
                    trainer.make_update()
                    saving.run_if_due()
                    under_way = saving._under_way
                    assert under_way is not None
                    wait_until(under_way.done)
            saving.run_if_due()
            trainer.make_update()
            saving.save()
            assert saved_updates(folder)[-1] == trainer.progress.num_updates


def test_a_folder_that_is_gone_is_not_made_again(folder: Path) -> None:
    trainer = SavingTrainer()
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        shutil.rmtree(folder)
        with pytest.raises(StorageError, match="No such file or directory"):
            saving.save()
    assert not folder.exists()


def test_a_file_size_limit_is_a_full_disk(folder: Path) -> None:
    """Of the operating system itself, in the middle of a write."""
    trainer = SavingTrainer(num_values=500_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(saving_of(trainer, folder)) as saving:
        trainer.make_update()
        assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # or the process would die of it
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        try:
            with pytest.raises(StorageError, match=r"File too large \(2,\d+,\d+ bytes needed"):
                saving.save()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(folder.iterdir()) == []


FILL_A_SMALL_DISK = """
import sys
from pathlib import Path
from mario_a3c.errors import StorageError
from tests.support.checkpoints import save_small
folder = Path(sys.argv[1]) / "run"
save_small(folder, 1, 50_000)
save_small(folder, 2, 50_000)
try:
    save_small(folder, 3, 300_000)
except StorageError as error:
    assert "No space left on device" in str(error) and "bytes needed" in str(error), error
else:
    raise SystemExit("the disk was not full")
from mario_a3c.checkpoint.choice import Wanted, choose
assert choose(Wanted(folder)).update == 2
assert not list(folder.glob(".*")), list(folder.glob(".*"))
print("held")
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path: Path, repository: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=1m none {disk} && exec {sys.executable} -c '{FILL_A_SMALL_DISK}' {disk}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount], cwd=repository, env={**os.environ, "PYTHONPATH": "."},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"this machine lets nobody mount: {done.stderr.strip()}")
    assert done.stdout == "held\n", done.stderr
