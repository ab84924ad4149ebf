"""`mario explore` and `mario replay` as a user meets them, on a corridor with three screens."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mario_a3c.cli.explore import write_statistics
from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode


def test_statistics_of_other_stages_are_kept(tmp_path: Path) -> None:
    write_statistics(tmp_path, [{"stage": "1-2", "steps": 5}, {"stage": "1-1", "steps": 4}])
    write_statistics(tmp_path, [{"stage": "1-2", "steps": 3}])
    assert json.loads((tmp_path / "statistics.json").read_text()) == [
        {"stage": "1-1", "steps": 4},
        {"stage": "1-2", "steps": 3},
    ]


def test_replay_wants_a_recording(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["replay"]) == ExitCode.USAGE
    assert "mario explore" in capsys.readouterr().err


PROGRAM = """
import sys
from pathlib import Path
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.explorer import StageExplorer
from tests.support.corridor import corridor_task

folder = Path(sys.argv[1])
cache = CacheDir.open(CacheConfig(cache_dir=folder / "cache"))
explorer = StageExplorer(corridor_task(folder), SearchConfig(seed=4, threads=1, polish_frames=10**9), cache)
print("begins with", explorer.progress().num_cells, flush=True)
explorer.run(lambda progress: progress.best_steps and print("found", flush=True))
"""


def test_a_search_that_was_killed_goes_on_from_what_was_saved(tmp_path: Path, repository: Path) -> None:
    """Killed without a word after some saves: the next one has its cells and its way."""
    program = "import mario_a3c.exploration.explorer as e; e._SAVE_SECONDS = 0.0\n" + PROGRAM
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begins with 1\n"
        for _ in range(3):
            assert first.stdout.readline() == "found\n"
        first.send_signal(signal.SIGKILL)
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout is not None
        assert int(second.stdout.readline().split()[-1]) > 20
        assert second.stdout.readline() == "found\n"
        second.send_signal(signal.SIGKILL)
