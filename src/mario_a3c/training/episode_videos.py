"""Videos that a run makes of its own episodes."""

import logging
import time
from pathlib import Path

from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.videos import write_episode_video
from mario_a3c.training.evaluator import Evaluator, Place
from mario_a3c.video import MISSING, can_write_videos

LOG = logging.getLogger("mario.eval")

_MOST_VIDEO_SHARE = 0.02
_FIRST_VIDEO_SECONDS = 4.0  # of CPU, a guess until the first one is made


def can_film(place: Place) -> bool:
    if place.studio is not None and not can_write_videos():
        LOG.warning("no videos: %s", MISSING)
        return False
    return place.studio is not None


def film(evaluator: Evaluator, result: EpisodeResult, name: str) -> Path:
    assert evaluator.place.studio is not None
    path = write_episode_video(evaluator.place.studio, result, evaluator.folder / "videos" / f"{name}.mp4")
    LOG.info("video of a %s episode that ended with %s: %s", result.spec.mode, result.end_reason, path)
    return path


class FilmEpisodes:
    """A video of an episode every so many updates, where it takes no more than 2 % of the CPU's time. A `Task`."""

    phase = "filming"

    def __init__(self, evaluator: Evaluator, interval: int) -> None:
        self._evaluator, self._interval = evaluator, interval
        self._started = time.process_time()
        self._spent, self._last = 0.0, _FIRST_VIDEO_SECONDS
        self._is_owed = self._was_put_off = False

    def run_if_due(self) -> None:
        update = self._evaluator.progress.num_updates
        self._is_owed = self._is_owed or update % self._interval == 0
        if not self._is_owed:
            return
        if not self._can_afford():
            self._say_once()
            return
        self._is_owed = False
        began = time.process_time()
        results = self._evaluator.play(("sampled",), 1, with_traces=True, stages=self._evaluator.place.stages[:1])
        if results:
            film(self._evaluator, results[0], f"update_{update:07d}")
        self._last = time.process_time() - began
        self._spent += self._last

    def _say_once(self) -> None:
        if not self._was_put_off:
            self._was_put_off = True
            share = f"{_MOST_VIDEO_SHARE:.0%} of the CPU's time"
            LOG.info("the video of --video-interval %d is put off: videos may take %s", self._interval, share)

    def _can_afford(self) -> bool:
        return self._spent + self._last <= _MOST_VIDEO_SHARE * (time.process_time() - self._started + self._last)
