"""Signals at random moments: a snapshot that can be loaded, soon, and the next start goes on from it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.game_runs import slowness


def stop_runs(repository: Path, folder: Path, num_stops: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.stop_runs", str(folder), str(num_stops)]
    environment = {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_thirty_signals_at_random_moments(tmp_path: Path, repository: Path) -> None:
    found = stop_runs(repository, tmp_path, 30)
    assert set(found["codes"]) == {75}
    assert found["updates"] == sorted(found["updates"])
    assert found["updates"][-1] > 30
    assert found["leftovers"] == 0
    assert max(found["seconds"]) < 5 * slowness()
