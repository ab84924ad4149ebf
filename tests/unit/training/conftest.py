import logging

import pytest

from mario_a3c.training.snapshots import SaveCheckpoints
from tests.support.runs import play_the_corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]


@pytest.fixture
def corridor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are about the corridor."""
    play_the_corridor(monkeypatch)


@pytest.fixture
def corridor_saved_often(corridor: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Runs are about the corridor, each update of theirs is saved, and what they say is kept."""
    # Beside training a slow disk skips updates; here each is to be saved.
    monkeypatch.setattr(SaveCheckpoints, "run_if_due", SaveCheckpoints.save)
    caplog.set_level(logging.INFO, "mario")
