"""Sinks against their slow references and a real full disk."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.envs.env_batch import EPISODE_DTYPE
from mario_a3c.metrics.lines import encode
from mario_a3c.metrics.schema import problems_of
from mario_a3c.metrics.sinks import EndedEpisodes, episode_lines, episode_records


def ended(count: int, seed: int = 0) -> EndedEpisodes:
    random = np.random.default_rng(seed)
    episodes = np.zeros(count, EPISODE_DTYPE)
    for name in ("total_reward", "progress"):
        episodes[name] = random.normal(0, 10.0 ** random.integers(-9, 9, count))
    for name in ("num_steps", "num_frames", "number"):
        episodes[name] = random.integers(0, 2**32, count)
    episodes["level"], episodes["end_reason"] = random.integers(0, 32, count), random.integers(0, 8, count)
    episodes["start"] = random.integers(-1, 100, count)
    common = {"session": 2, "time": 1794759116.0474923, "update": 2**53, "global_step": 2**53 + 1}
    stages, reasons = {level: f"{level}-x" for level in range(32)}, dict(enumerate("abcdefgh"))
    return EndedEpisodes(common, episodes, stages, reasons, random.random(count) < 0.5)


@pytest.mark.parametrize("reward", [1.0, float("nan"), float("inf")])
def test_episodes_are_written_fast_as_the_slow_way_writes_them(reward: float) -> None:
    some = ended(200)
    some.episodes["total_reward"][7] = reward
    records = episode_records(some)
    assert episode_lines(some) == b"".join(encode(record) for record in records)
    assert [problem for record in records for problem in problems_of(record)] == []
    assert records[7]["return"] == (1.0 if reward == 1.0 else None)
    assert [record["is_whole"] for record in records] == some.is_whole.tolist()


ON_A_SMALL_DISK = """
import logging, os, sys
from pathlib import Path
from mario_a3c.metrics.lines import LineFile
from mario_a3c.metrics.reader import LineReader
from mario_a3c.metrics.schema import complete
from mario_a3c.metrics.sinks import JsonLines
from mario_a3c.metrics.tensorboard_sink import TensorBoard
from mario_a3c.metrics.writer import Writer

folder = Path(sys.argv[1])
logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO, stream=sys.stdout)
writer, lines = Writer(), JsonLines(LineFile(folder / "metrics.jsonl"))
sinks = [lines, TensorBoard(folder / "tensorboard", started="here")]
for sink in sinks:
    writer.add(sink)

def train(first, last):
    for update in range(first, last):
        for sink in sinks:
            fields = {"time": 1.0, "update": update, "global_step": update, "kl": 0.5, "entropy": 1.0, "seconds": 2.0}
            writer.hand_over(sink, complete("metrics", fields))
        while writer._queue.qsize() > 100:
            pass

train(0, 2000)
(folder / "filler").unlink()
train(2000, 2100)
writer.close()
reader = LineReader(folder / "metrics.jsonl")
updates = [record["update"] for record in reader]
assert reader.num_skipped == 0 and 100 < len(updates) < 2100 and updates[-1] == 2099, (len(updates), updates[-1])
assert updates == sorted(set(updates))
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
(path,) = (folder / "tensorboard").iterdir()
steps = [event.step for event in EventFileLoader(str(path)).Load() if event.HasField("summary")]
assert 100 < len(steps) < 2100 and steps[-100:] == list(range(2000, 2100)), (len(steps), steps[-1])
"""


@pytest.mark.slow
def test_a_full_megabyte_is_said_once_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """On a real file system of one megabyte, made in a name space of its own."""
    pytest.importorskip("tensorboard")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here: unshare -rm does not work")
    (tmp_path / "program.py").write_text(ON_A_SMALL_DISK)
    mount = 'mount -t tmpfs -o size=1m tmpfs "$1" && dd if=/dev/zero of="$1/filler" bs=1k count=300 status=none'
    script = f'{mount} && exec "$2" "$3" "$1"'
    (tmp_path / "disk").mkdir()
    command = [
        unshare,
        "-rm",
        "sh",
        "-c",
        script,
        "-",
        str(tmp_path / "disk"),
        sys.executable,
        str(tmp_path / "program.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    warnings = [line for line in done.stdout.splitlines() if line.startswith("WARNING")]
    assert len(warnings) == 2, warnings  # one for each file
    assert all("No space left on device" in line and "training goes on" in line for line in warnings)
    assert done.stdout.count("again, after") == 2
