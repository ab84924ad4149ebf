"""Videos that a run makes of its own episodes."""

import time
from typing import Any

import pytest

from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.native.start_states import Stage
from mario_a3c.training import episode_videos
from mario_a3c.training.episode_videos import FilmEpisodes
from tests.support.episode_results import result_of


def test_videos_wait_until_they_are_worth_two_percent_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "mario.eval")
    clock = 0.0
    filmed: list[float] = []

    class Recorder:
        class progress:  # noqa: N801
            num_updates = 0

        class place:  # noqa: N801
            stages = (Stage(1, 1),)

        def play(self, *_: Any, **__: Any) -> list[EpisodeResult]:
            nonlocal clock
            clock += 3.0
            return [result_of()]

    monkeypatch.setattr(episode_videos, "film", lambda *_: filmed.append(clock))
    monkeypatch.setattr(time, "process_time", lambda: clock)
    recorder: Any = Recorder()
    task = FilmEpisodes(recorder, interval=5)
    for update in range(1, 2001):
        recorder.progress.num_updates = update
        clock += 1.0
        task.run_if_due()
    assert 10 <= len(filmed) <= 14
    assert 3.0 * len(filmed) <= 0.02 * clock
    assert caplog.text.count("the video of --video-interval 5 is put off") == 1
