"""Long work says now and then how far it is."""

import logging
import time

import pytest

from mario_a3c.cli.how_far import HowFar

LOG = logging.getLogger("mario.test")


def test_a_line_comes_every_five_seconds_with_what_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    how_far = HowFar(8, "episodes", LOG)
    with caplog.at_level(logging.INFO, "mario.test"):
        for _ in range(8):
            clock += 2.0
            how_far.one_more()
    # After 6 and 12 seconds; at 16 there is nothing left to wait for.
    assert caplog.messages == ["3 of 8 episodes, about 10 s left", "6 of 8 episodes, about 4 s left"]
