"""Everything that a run tells about itself, put together: records, heartbeat, alerts and what is shown."""

import contextlib
import logging
import time
from collections.abc import Iterator

import numpy as np

from mario_a3c.config import TrainingConfig
from mario_a3c.learning.stats import UpdateStats
from mario_a3c.metrics.lines import LineFile
from mario_a3c.metrics.schema import Record, complete
from mario_a3c.metrics.sinks import EndedEpisodes, EpisodeLines, JsonLines
from mario_a3c.metrics.tensorboard_sink import TensorBoard
from mario_a3c.metrics.writer import Sink, Writer
from mario_a3c.monitoring.alerts import Alerts
from mario_a3c.monitoring.monitor import Monitor
from mario_a3c.monitoring.resources import Resources
from mario_a3c.run_dir import RunDir
from mario_a3c.training.build import Training
from mario_a3c.training.display import RunDisplay, wants_panel
from mario_a3c.training.measurements import (
    END_REASONS,
    NewestEvaluation,
    detail_of,
    episode_fields,
    learning_fields,
    replay_fields,
    speed_fields,
    stage_name,
)
from mario_a3c.training.report import eta_seconds
from mario_a3c.training.telemetry_parts import (
    TENSORBOARD_FOLDER,
    WANDB_ID,
    alert_context,
    cpu_seconds_of,
    find_gpu,
    make_mirrors,
    make_table,
    next_session,
    tensorboard_folder,
    wandb_run_id,
)

LOG = logging.getLogger("mario.train")
TENSORBOARD_LOG = logging.getLogger("mario.train.log")

METRICS_FILE, EPISODES_FILE, EVALUATIONS_FILE = "metrics.jsonl", "episodes.jsonl", "evaluations.jsonl"


class Telemetry:
    """A `Task` that runs after every update: it collects, and hands over a record when one is due. Writing, watching
    and drawing are done by threads of their own; nothing here draws a random number or changes what is computed."""

    def __init__(self, config: TrainingConfig, training: Training, run_dir: RunDir) -> None:
        self._trainer, self._run_dir, self._config = training.trainer, run_dir, config.metrics
        self._frame_skip = config.vector_env.env.frame_skip
        progress = training.trainer.parts.progress
        self._session = next_session(run_dir.path)
        self.tensorboard_log_dir = tensorboard_folder(config.metrics, run_dir)
        self._wandb_id = wandb_run_id(config.metrics, run_dir)
        self._outcome = ("stopped", "it was left")
        self.last: Record | None = None
        """The newest record."""

        self._writer = Writer()
        self._metrics = JsonLines(self._line_file(METRICS_FILE))
        self._episodes = EpisodeLines(self._line_file(EPISODES_FILE))
        self._mirrors = make_mirrors(config, run_dir, self.tensorboard_log_dir, self._wandb_id, progress.num_steps)
        self._table = make_table(run_dir)
        sinks: list[Sink] = [self._metrics, self._episodes, *self._mirrors, *self._table]
        for sink in sinks:
            self._writer.add(sink)

        self._monitor = Monitor(
            config.monitoring,
            run_dir.path,
            training.trainer.parts.timing.pulse,
            Resources(run_dir.path, find_gpu(training.execution.device), config.monitoring.gpu_window),
            self._heartbeat_fields,
            rotate_bytes=round(config.metrics.rotate_mb * 2**20),
            keep_rotated=config.metrics.keep_rotated,
        )
        self._alerts = Alerts(alert_context(config, training)) if config.monitoring.alerts else None
        self._display = RunDisplay(config, training, run_dir) if wants_panel(config.display) else None
        self._evaluations = NewestEvaluation(run_dir.path / EVALUATIONS_FILE)
        self._updates: list[UpdateStats] = []
        self._mark = training.trainer.parts.timing.mark()
        self._steps = progress.num_steps
        self._next_record = time.monotonic() + config.metrics.metrics_interval
        self._next_table = time.monotonic() + (config.metrics.parquet_interval or float("inf"))
        self._task_seconds, self._cpu_started = 0.0, time.process_time()

    @property
    def has_panel(self) -> bool:
        return self._display is not None

    @property
    def links(self) -> Record:
        """What `run.json` says of it."""
        links = {TENSORBOARD_FOLDER: self.tensorboard_log_dir, WANDB_ID: self._wandb_id}
        return {name: str(link) for name, link in links.items() if link is not None}

    def start(self) -> None:
        update = self._trainer.parts.progress.num_updates
        for sink in (self._metrics, self._episodes):
            self._cut(sink.file, update)
        for mirror in self._mirrors:
            if isinstance(mirror, TensorBoard):
                TENSORBOARD_LOG.info("tensorboard_log_dir=%s", mirror.name)
                self._writer.hand_over(mirror, None)
        self._monitor.start()
        if self._display is not None:
            self._display.panel.start()

    def begin(self) -> None:
        """Right before the first update: what came before is no part of the speed."""
        self._mark = self._trainer.parts.timing.mark()

    def run_if_due(self) -> None:
        started = time.thread_time()
        trainer, stats = self._trainer, self._trainer.last_stats
        assert stats is not None
        self._updates.append(stats)
        self._monitor.stalls.is_warm = True
        self._monitor.slow_steps.after_update(
            trainer.parts.timing.pulse.update_since or 0.0, trainer.last_update_seconds
        )
        trainer.parts.timing.pulse.update_since = None
        self._hand_over_episodes()
        if time.monotonic() >= self._next_record:
            self.record()
        self._task_seconds += time.thread_time() - started

    def record(self) -> None:
        """Now, about the updates since the last one."""
        self._next_record = time.monotonic() + self._config.metrics_interval
        if not self._updates:
            return
        trainer, parts = self._trainer, self._trainer.parts
        shares = parts.timing.shares_since(self._mark)
        num_steps = parts.progress.num_steps - self._steps
        speed = speed_fields(shares, len(self._updates), num_steps, self._frame_skip)
        fields = {
            **self._common(),
            "seconds": parts.progress.seconds,
            **learning_fields(self._updates),
            **episode_fields(parts.progress),
            **self._evaluations.newest(),
            **speed,
            "eta_seconds": eta_seconds(trainer, speed["updates_per_sec"], speed["env_steps_per_sec"]),
            **replay_fields(parts.replay, trainer.last_rollout),
            **({} if parts.starts is None else parts.starts.measures()),
            **self._monitor.resources.fields,
            "telemetry_cpu_share": self.cpu_share(),
        }
        alerts = self._alerts.look(fields) if self._alerts is not None else []
        self.last = complete("metrics", {**fields, "alerts": alerts, "alerts_active": len(alerts)})
        LOG.debug("%s", detail_of(self.last))
        for sink in (self._metrics, *self._mirrors):
            self._writer.hand_over(sink, self.last)
        if self._display is not None:
            self._display.add(self.last)
        if time.monotonic() >= self._next_table:
            self._next_table = time.monotonic() + self._config.parquet_interval
            for table in self._table:
                self._writer.hand_over(table, None)
        self._updates, self._steps, self._mark = [], parts.progress.num_steps, parts.timing.mark()

    def interrupted(self) -> None:
        self._trainer.parts.timing.pulse.enter("interrupt")
        self._monitor.beat()

    def ended(self, phase: str, message: str) -> None:
        """How the run ended, for the last heartbeat."""
        self._outcome = (phase, message)

    def close(self, failure: BaseException | None = None) -> None:
        if failure is not None:
            self._outcome = ("failed", f"{type(failure).__name__}: {failure}")
        else:
            self.record()
        self._trainer.parts.timing.pulse.enter(self._outcome[0])
        if self._display is not None:
            self._display.panel.close()
        self._monitor.close(*self._outcome)
        self._writer.close()

    def cpu_share(self) -> float:
        """Of the process's CPU time since the start of the run."""
        threads = [self._writer.thread, self._monitor.thread]
        if self._display is not None:
            threads.append(self._display.panel.thread)
        seconds = self._task_seconds + sum(map(cpu_seconds_of, threads))
        return seconds / max(time.process_time() - self._cpu_started, 1e-9)

    def _cut(self, file: LineFile, update: int) -> None:
        try:
            num_cut = file.cut_after(update)
        except OSError as error:
            LOG.warning("cannot tidy up %s: %s; training goes on", file.path, error.strerror or error)
            return
        if num_cut:
            LOG.info(
                "%s: %d records of updates after %d, which are made again, were moved aside", file.path, num_cut, update
            )

    def _hand_over_episodes(self) -> None:
        rollout = self._trainer.last_rollout
        if rollout is None or not len(rollout.episodes) or not self._config.episode_log:
            return
        levels = set(rollout.episodes["level"].tolist())
        starts = self._trainer.parts.starts
        is_whole = np.ones(len(rollout.episodes), np.bool_) if starts is None else starts.is_whole(rollout.episodes)
        stages = {level: stage_name(level) for level in levels}
        ended = EndedEpisodes(self._common(), rollout.episodes, stages, END_REASONS, is_whole)
        self._writer.hand_over(self._episodes, ended)

    def _common(self) -> Record:
        progress = self._trainer.parts.progress
        return {
            "session": self._session,
            "time": time.time(),
            "update": progress.num_updates,
            "global_step": progress.num_steps,
        }

    def _heartbeat_fields(self) -> Record:
        """Of the monitor's thread: numbers that another thread may be changing, each of them whole."""
        return {
            **self._common(),
            "rollout_progress": self._trainer.parts.timing.rollout_progress,
            "num_updates_planned": self._trainer.budget.num_updates,
            "env_steps_per_sec": self.last and self.last["env_steps_per_sec"],
        }

    def _line_file(self, name: str) -> LineFile:
        return LineFile(
            self._run_dir.path / name,
            max_bytes=round(self._config.rotate_mb * 2**20),
            num_kept=self._config.keep_rotated,
        )


@contextlib.contextmanager
def open_telemetry(config: TrainingConfig, training: Training, run_dir: RunDir) -> Iterator[Telemetry]:
    telemetry = Telemetry(config, training, run_dir)
    telemetry.start()
    try:
        yield telemetry
    except BaseException as error:
        telemetry.close(error)
        raise
    telemetry.close()
