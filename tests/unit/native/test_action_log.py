"""Action logs: written, read, refused, played."""

import dataclasses
import json
from pathlib import Path

import pytest

from mario_a3c.errors import RomError, StorageError
from mario_a3c.native.action_log import ActionLog, StepLog, play_log, run_lengths
from mario_a3c.native.console import Console
from mario_a3c.native.start_states import Stage
from tests.support.corridor import corridor_task

LOG = ActionLog(
    "0" * 40, Stage(1, 1), ((128, 30), (0, 2)), "open", "a test", StepLog(4, True, ("noop", "right"), ((1, 8),))
)


def test_a_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    for number, log in enumerate((LOG, dataclasses.replace(LOG, steps=None))):
        path = tmp_path / f"{number}.json"
        log.save(path)
        assert ActionLog.load(path) == log
        assert json.loads(path.read_text())["format"] == "mario-a3c action log"
    assert LOG.num_frames == 32


def test_runs_are_counted() -> None:
    assert run_lengths([3, 3, 3, 0, 3]) == ((3, 3), (0, 1), (3, 1))
    assert run_lengths([]) == ()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "something else"}, "format"),
        ({"version": 2}, "version 2"),
        ({"frames": [[256, 1]]}, "0, 255"),
        ({"frames": [[1, 0]]}, "at least once"),
        ({"frames": [[0, 10**9]]}, "longer than a day"),
        ({"frames": 3}, "no action log"),
        ({"stage": "one"}, "a stage is written"),
        ({"steps": {"frame_skip": 4, "skip_idle": True, "actions": ["noop"], "choices": [[1, 1]]}}, "0, 0"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    path = tmp_path / "log.json"
    LOG.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(StorageError, match=complaint):
        ActionLog.load(path)


def test_a_missing_or_broken_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="name an existing action log"):
        ActionLog.load(tmp_path / "none.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(StorageError, match="is no action log"):
        ActionLog.load(tmp_path / "broken.json")


def test_a_log_is_played_frame_by_frame_on_its_own_cartridge(tmp_path: Path) -> None:
    task = corridor_task(tmp_path)
    console = Console(task.rom.path, allow_unknown_rom=True)
    log = dataclasses.replace(LOG, rom_sha1=task.rom.cartridge.sha1)
    positions = [game.x for game in play_log(console, task.start_state, log)]
    assert positions == [64 + 4 * frame for frame in range(1, 31)] + [184, 184]
    with pytest.raises(RomError, match="--rom"):
        list(play_log(console, task.start_state, LOG))
