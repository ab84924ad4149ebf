"""Writing never stops training: troubles are said once a minute."""

import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.metrics import writer as writer_module
from mario_a3c.metrics.lines import LineFile
from mario_a3c.metrics.reader import read_records
from mario_a3c.metrics.sinks import JsonLines
from mario_a3c.metrics.writer import Trouble, Writer


class Failing:
    """A sink that fails as often as it is told to, then collects."""

    name = "failing"

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.got = list(errors), []  # type: ignore[var-annotated]

    def write(self, payload: Any) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.got.append(payload)

    def close(self) -> None:
        self.got.append("closed")


def test_everything_handed_over_is_written_in_order_before_it_closes(tmp_path: Path) -> None:
    writer, sink = Writer(), JsonLines(LineFile(tmp_path / "metrics.jsonl"))
    writer.add(sink)
    for update in range(1000):
        writer.hand_over(sink, {"update": update})
    writer.close()
    assert [record["update"] for record in read_records(tmp_path)] == list(range(1000))
    assert not writer.thread.is_alive()


def test_a_failing_sink_is_reported_once_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    failing, good, writer = (
        Failing(*[OSError(28, "No space left on device")] * 5, ValueError("odd")),
        Failing(),
        Writer(),
    )
    good.name = "good"
    for sink in (failing, good):
        writer.add(sink)
        for number in range(8):
            writer.hand_over(sink, number)
    with caplog.at_level(logging.INFO, "mario.metrics"):
        writer.close()
    assert good.got == [*range(8), "closed"]
    assert failing.got == [6, 7, "closed"]
    warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["cannot write failing: No space left on device; 1 lost so far, training goes on"]
    assert "writing failing again, after 6 that were lost" in caplog.text


def test_a_trouble_that_lasts_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    trouble = Trouble("metrics.jsonl", clock=lambda: now)
    for second in range(150):
        now = float(second)
        trouble.report("No space left on device")
    assert [record.getMessage().split("; ")[1] for record in caplog.records] == [
        "1 lost so far, training goes on",
        "61 lost so far, training goes on",
        "121 lost so far, training goes on",
    ]


def test_a_disk_that_does_not_keep_up_costs_records_and_no_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "_MOST_WAITING", 10)
    release = threading.Event()

    class Slow(Failing):
        def write(self, payload: Any) -> None:
            release.wait(10)
            super().write(payload)

    slow, writer = Slow(), Writer()
    writer.add(slow)
    for number in range(100):
        writer.hand_over(slow, number)
    release.set()
    writer.close()
    assert 10 <= len(slow.got) <= 13
    assert "does not keep up" in caplog.text


def test_a_folder_that_vanishes_warns_and_nothing_is_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    writer, sink = Writer(), JsonLines(LineFile(folder / "metrics.jsonl"))
    writer.add(sink)
    os.rename(folder, tmp_path / "away")
    for update in range(3):
        writer.hand_over(sink, {"update": update})
    writer.close()
    assert caplog.text.count("cannot write") == 1
    assert "No such file or directory" in caplog.text
