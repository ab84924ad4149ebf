"""Searches one stage, shows how far it is, and keeps what was found across interruptions."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import StorageError
from mario_a3c.exploration.archive_file import SavedArchive
from mario_a3c.exploration.config import SearchConfig
from mario_a3c.exploration.task import StageTask
from mario_a3c.native.bindings import ExplorationStatus
from mario_a3c.native.stage_search import ActionPath, StageSearch

LOG = logging.getLogger("mario.explore")

Found = TypeVar("Found")

_SLICE_SECONDS = 0.1  # Ctrl-C and the progress line wait no longer
_SAVE_SECONDS = 5.0
_FIRST_SLICE_FRAMES = 2_000


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """Where a search stands. `best_steps` is 0 before a way through was found."""

    task: StageTask
    num_frames: int
    seconds: float
    num_cells: int
    furthest_x: int
    num_paths: int
    best_steps: int
    num_bytes: int


OnProgress = Callable[[SearchProgress], None]


class StageExplorer:
    """The search of one stage. What it has reached is kept in the cache and continued from, unless `is_fresh`.

    `counters` add up over interruptions. A search that was continued is as good as one that was not, but another one:
    only an uninterrupted one with one thread is reproducible.
    """

    def __init__(
        self,
        task: StageTask,
        config: SearchConfig,
        cache: CacheDir | None,
        *,
        engine_path: Path | None = None,
        is_fresh: bool = False,
    ) -> None:
        self.task, self.config = task, config
        self._file = None if cache is None else cache.folder("exploration") / f"{task.key}-{config.seed}.archive.npz"
        self.search = StageSearch(
            task.rom,
            task.start_state,
            task.buttons,
            frame_skip=task.frame_skip,
            skips_idle=task.skip_idle,
            seed=config.seed,
            num_threads=config.threads,
            max_cells=config.max_cells,
            goal=task.goal,
            engine_path=engine_path,
        )
        self._earlier = SavedArchive([], 0, 0, 0.0)
        self._replayed_frames = 0
        self._seconds = 0.0
        if not is_fresh:
            self._continue()

    @property
    def path(self) -> ActionPath | None:
        """The shortest way through that was found."""
        return self.search.best_path()

    @property
    def is_done(self) -> bool:
        """Whether a way was found and improved for as long as it was wanted, or the search was given up."""
        progress = self.progress()
        first_goal = self.first_goal_frames
        if progress.num_frames >= self.config.max_frames:
            return True
        return first_goal > 0 and progress.num_frames - first_goal >= self.config.polish_frames

    @property
    def first_goal_frames(self) -> int:
        """Frames until the goal was first reached; 0 before that."""
        own = int(self.search.status().first_goal_frames)
        if self._earlier.first_goal_frames or not own:
            return self._earlier.first_goal_frames
        return self._earlier.num_frames + own - self._replayed_frames

    def progress(self) -> SearchProgress:
        status = self.search.status()
        return SearchProgress(
            task=self.task,
            num_frames=self._earlier.num_frames + status.num_frames - self._replayed_frames,
            seconds=self._seconds,
            num_cells=status.num_cells,
            furthest_x=status.furthest_x,
            num_paths=status.num_goals,
            best_steps=status.best_steps,
            num_bytes=status.num_bytes,
        )

    def run(self, on_progress: OnProgress | None = None) -> None:
        """Searches until it is done. Interrupted by Ctrl-C, it saves what was found first."""
        started, earlier_seconds = time.monotonic(), self._seconds
        last_save = started
        slice_frames = _FIRST_SLICE_FRAMES
        try:
            while not self.is_done and not self._is_out_of_time(started):
                slice_start = time.monotonic()
                self._run_slice(slice_frames)
                now = time.monotonic()
                self._seconds = earlier_seconds + now - started
                slice_frames = int(slice_frames * min(4.0, _SLICE_SECONDS / max(1e-4, now - slice_start))) + 1
                if now - last_save > _SAVE_SECONDS:
                    self.save()
                    last_save = now
                if on_progress is not None:
                    on_progress(self.progress())
        finally:
            self.save()

    def save(self) -> None:
        """Keeps every path in the cache, so that another run goes on from here."""
        if self._file is None or self.search.status().num_frames == self._replayed_frames:
            return
        cells = self.search.cells()
        paths = [self.search.path_to(cell, int(cells["steps"][cell])) for cell in range(len(cells))]
        best = self.search.best_path()
        if best is not None:
            paths.append(best)
        progress = self.progress()
        saved = SavedArchive(paths, progress.num_frames, self.first_goal_frames, progress.seconds)
        try:
            saved.save(self._file)
        except StorageError as error:
            LOG.warning("the search cannot be continued later: %s", error)

    def _run_slice(self, num_frames: int) -> ExplorationStatus:
        """Up to so many frames more; exactly to the ends that the config sets."""
        status = self.search.status()
        left = self.config.max_frames - self.progress().num_frames
        polish = self.config.polish_frames
        first_goal = self.first_goal_frames
        if self._earlier.num_frames and first_goal:
            # The search itself counts from when the goal was reached again by what was saved.
            left = min(left, polish - (self.progress().num_frames - first_goal))
            polish = self.config.max_frames
        return self.search.run(status.num_frames + min(num_frames, left), polish)

    def _continue(self) -> None:
        if self._file is None:
            return
        try:
            saved = SavedArchive.load(self._file)
            self.search.add_paths(saved.paths)
        except FileNotFoundError:
            return
        except (StorageError, ValueError) as error:
            LOG.warning("the search begins anew: %s", error)
            return
        self._earlier, self._seconds = saved, saved.seconds
        self._replayed_frames = self.search.status().num_frames

    def _is_out_of_time(self, started: float) -> bool:
        return 0 < self.config.max_seconds <= time.monotonic() - started


def explore_stages(
    tasks: Sequence[StageTask],
    config: SearchConfig,
    finish: Callable[[StageExplorer], Found],
    *,
    engine_path: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Found, str]]:
    """Searches several stages at once, one on each core. What `finish` makes of each search, in the order in which they
    end, and how much is left to do; the search itself is gone then, with its memory.

    KeyboardInterrupt soon after `should_stop` has become true.
    """
    started, is_left = time.monotonic(), threading.Event()

    def stop_if_asked(_: SearchProgress) -> None:
        if is_left.is_set() or should_stop():
            raise KeyboardInterrupt

    def explore(task: StageTask) -> Found:
        # Without the cache: what it holds may come from another search, and this one is to be the same everywhere.
        explorer = StageExplorer(task, config, None, engine_path=engine_path)
        explorer.run(stop_if_asked)
        return finish(explorer)

    with ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="mario-explore") as pool:
        running = [pool.submit(explore, task) for task in tasks]
        try:
            for number, done in enumerate(as_completed(running), start=1):
                seconds = (time.monotonic() - started) / number * (len(tasks) - number)
                yield done.result(), f"{number} of {len(tasks)} stages, about {seconds:.0f} s left"
        except BaseException:
            is_left.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
