"""Weights & Biases, offline: what was logged is in its file."""

import importlib.util
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.errors import SetupError
from mario_a3c.metrics.schema import complete, curves
from mario_a3c.metrics.wandb_sink import WeightsAndBiases

_HEADER_BYTES, _BLOCK_BYTES = 7, 1 << 15


def messages_of(content: bytes) -> Iterator[bytes]:
    """W&B's file is a log in LevelDB's format: blocks of 32 KB, in which records lie whole or in pieces."""
    position, pieces = _HEADER_BYTES, b""
    while position + _HEADER_BYTES <= len(content):
        left = _BLOCK_BYTES - position % _BLOCK_BYTES
        if left < _HEADER_BYTES:
            position += left
            continue
        _, size, kind = struct.unpack_from("<IHB", content, position)
        position += _HEADER_BYTES
        pieces += content[position : position + size]
        position += size
        if kind in (1, 4):  # whole, or the last piece
            yield pieces
            pieces = b""


def history_of(path: Path) -> list[dict[str, Any]]:
    from wandb.proto.wandb_internal_pb2 import Record

    rows = []
    for message in messages_of(path.read_bytes()):
        record = Record()
        record.ParseFromString(message)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({"/".join(each.nested_key) or each.key: json.loads(each.value_json) for each in items})
    return rows


def wait_for_history(path: Path, num_rows: int) -> list[dict[str, Any]]:
    """The file is written by a process of W&B's own, which may still be at it."""
    deadline = time.monotonic() + 60
    while len(rows := history_of(path)) < num_rows and time.monotonic() < deadline:
        time.sleep(0.1)
    return rows


@pytest.mark.slow
def test_the_offline_file_holds_the_same_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    sink = WeightsAndBiases("mario", "run", "one-of-many", tmp_path, {"lr": 0.1})
    records = [
        complete("metrics", {"global_step": 100 * each, "loss_total": 1 / each, "clear_rate_by_stage": {"1-1": 0.5}})
        for each in range(1, 6)
    ]
    for record in records:
        sink.write(record)
    sink.close()
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    rows = wait_for_history(path, len(records))
    assert [row["_step"] for row in rows] == [record["global_step"] for record in records]
    for row, record in zip(rows, records, strict=True):
        assert {name: row[name] for name in dict(curves(record))} == dict(curves(record))


@pytest.mark.slow
def test_a_run_that_goes_on_has_the_same_id_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for start in (1, 2):
        sink = WeightsAndBiases("mario", "run", "one-of-many", tmp_path / str(start), {"lr": 0.1 * start})
        sink.write(complete("metrics", {"global_step": 100 * start, "loss_total": 1.0}))
        sink.close()
        (path,) = tmp_path.glob(f"{start}/wandb/offline-run-*-one-of-many/run-one-of-many.wandb")
        assert [row["_step"] for row in wait_for_history(path, 1)] == [100 * start]


def test_without_the_package_it_is_refused_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SetupError, match=r"pip install 'mario-a3c\[wandb\]'"):
        WeightsAndBiases("mario", "run", "one-of-many", tmp_path, {})
