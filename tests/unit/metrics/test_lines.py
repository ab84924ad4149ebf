"""Lines survive what happens to those who write them."""

import errno
import gzip
import json
import multiprocessing
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.metrics.lines import LineFile, decode, encode, rotated_files
from mario_a3c.metrics.reader import LineReader, last_record, read_records

NUM_WRITERS, NUM_LINES = 8, 10_000


def write_lines(path: Path, writer: int, max_bytes: int) -> None:
    file = LineFile(path, max_bytes=max_bytes, num_kept=1000)
    for number in range(NUM_LINES):
        file.append(encode({"writer": writer, "number": number, "filler": "x" * (number % 50)}))
    file.close()


@pytest.mark.parametrize("max_bytes", [1 << 20, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_eight_processes_tear_and_lose_nothing(tmp_path: Path, max_bytes: int) -> None:
    path = tmp_path / "metrics.jsonl"
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=write_lines, args=(path, each, max_bytes)) for each in range(NUM_WRITERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    reader = LineReader(path)
    seen = {(record["writer"], record["number"]) for record in reader}
    assert len(seen) == NUM_WRITERS * NUM_LINES
    assert reader.num_skipped == 0
    assert bool(rotated_files(path)) == (max_bytes == 1 << 20)


def test_eight_threads_share_one_file(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "metrics.jsonl", max_bytes=1 << 18, num_kept=1000)

    def write(writer: int) -> None:
        for number in range(1000):
            file.append(encode({"writer": writer, "number": number}))

    threads = [threading.Thread(target=write, args=(each,)) for each in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(each["writer"], each["number"]) for each in read_records(file.path)}) == 8000


def write_until_killed(path: Path) -> None:
    file = LineFile(path, max_bytes=1 << 21, num_kept=1000)
    update = (last_record(path) or {"update": 0})["update"]
    while True:
        update += 1
        file.append(encode({"kind": "metrics", "update": update, "filler": "x" * 20_000}))


def test_a_hundred_kills_leave_at_most_one_partial_line_each(tmp_path: Path) -> None:
    """Every next writer goes on where the last whole line ended: no update is there twice, and none is missing."""
    path, moments = tmp_path / "metrics.jsonl", random.Random(0)
    fork = multiprocessing.get_context("fork")
    num_torn = 0
    for num_kills in range(1, 1001):  # on a busy machine some writers do not come to write
        process = fork.Process(target=write_until_killed, args=(path,))
        process.start()
        time.sleep(moments.uniform(0.0, 0.008))
        process.kill()
        process.join(10)
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        num_torn = max(num_torn, sum(decode(line) is None for line in lines if line))
        if num_kills >= 100 and (last_record(path) or {"update": 0})["update"] > 100:
            break
    assert num_torn <= 1
    reader = LineReader(path)
    updates = [record["update"] for record in reader]
    assert reader.num_skipped <= 1
    assert len(updates) > 100
    assert updates == list(range(1, len(updates) + 1))


def test_what_a_kill_left_behind_is_skipped_by_readers_and_cut_off_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode({"update": 1}) + b'{"update": 2, "loss')
    reader = LineReader(path)
    assert [record["update"] for record in reader] == [1]
    assert reader.num_skipped == 1
    assert last_record(path) == {"update": 1}
    LineFile(path).append(encode({"update": 2}))
    assert path.read_bytes() == encode({"update": 1}) + encode({"update": 2})


def test_a_long_torn_line_and_a_file_of_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode({"update": 1}) + b"x" * 200_000)
    LineFile(path).append(encode({"update": 2}))
    assert [record["update"] for record in read_records(path)] == [1, 2]
    path.write_bytes(b"torn")
    LineFile(path).append(encode({"update": 3}))
    assert path.read_bytes() == encode({"update": 3})


def test_rotated_files_are_compressed_and_only_the_last_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    file = LineFile(path, max_bytes=100, num_kept=2)
    for update in range(1, 21):
        file.append(encode({"update": update, "filler": "x" * 60}))
    names = [each.name for each in rotated_files(path)]
    assert len(names) == 2
    assert all(name.endswith(".jsonl.gz") for name in names)
    assert [record["update"] for record in read_records(path)] == [18, 19, 20]
    assert json.loads(gzip.decompress(rotated_files(path)[0].read_bytes()))["update"] == 18


def test_a_rotated_file_that_was_not_compressed_yet_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode({"update": 3}))
    for number in (1, 2):
        (tmp_path / f"metrics.000{number}.jsonl").write_bytes(encode({"update": number}))
    with gzip.open(tmp_path / "metrics.0001.jsonl.gz", "wb") as packed:
        packed.write(encode({"update": 1}))
    assert [record["update"] for record in read_records(path)] == [1, 2, 3]


def test_a_damaged_compressed_file_costs_only_its_own_rest(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = gzip.compress(b"".join(encode({"update": each}) for each in range(1000)))
    (tmp_path / "metrics.0001.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    path.write_bytes(encode({"update": 1000}))
    assert read_records(path)[-1]["update"] == 1000


def fail_after(num_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes so much of a line and no more."""
    real = os.write

    def write(handle: int, data: bytes) -> int:
        return real(handle, data[:num_bytes])

    monkeypatch.setattr(os, "write", write)


def test_a_line_that_a_full_disk_takes_in_part_is_not_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LineFile(tmp_path / "metrics.jsonl")
    file.append(encode({"update": 1}))
    with monkeypatch.context() as patch:
        fail_after(5, patch)
        with pytest.raises(OSError, match="No space left") as caught:
            file.append(encode({"update": 2}))
        assert caught.value.errno == errno.ENOSPC
    assert file.path.read_bytes() == encode({"update": 1})
    file.append(encode({"update": 3}))
    assert [record["update"] for record in read_records(file.path)] == [1, 3]


def test_a_file_that_was_deleted_or_moved_is_made_again(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "metrics.jsonl")
    file.append(encode({"update": 1}))
    file.path.unlink()
    file.append(encode({"update": 2}))
    assert [record["update"] for record in read_records(file.path)] == [2]
    file.path.rename(tmp_path / "elsewhere")
    file.append(encode({"update": 3}))
    assert [record["update"] for record in read_records(file.path)] == [3]


def test_records_of_updates_that_are_made_again_are_cut_also_from_rotated_files(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    file = LineFile(path, max_bytes=200, num_kept=100)
    for update in range(1, 31):
        file.append(encode({"update": update, "filler": "x" * 40}))
    assert len(rotated_files(path)) > 5
    assert file.cut_after(12) == 18
    assert [record["update"] for record in read_records(path)] == list(range(1, 13))
    assert sorted(record["update"] for record in read_records(tmp_path / "metrics.removed.jsonl")) == list(
        range(13, 31)
    )
    file.append(encode({"update": 13}))
    assert [record["update"] for record in read_records(path)] == list(range(1, 14))
    assert file.cut_after(100) == 0
    assert LineFile(tmp_path / "never_written.jsonl").cut_after(1) == 0


def test_what_is_not_json_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"loss": float("nan")})
    lines: list[Any] = [b"", b"[1]", b"NaN", b"{", b'"x"']
    assert [decode(line) for line in lines] == [None] * 5
