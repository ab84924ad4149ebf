"""What is shown of a run on a terminal: the panel, fed by the newest records."""

import sys
from collections import deque
from collections.abc import Sequence

import numpy as np

from mario_a3c.config import TrainingConfig
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.metrics.config import DisplayConfig
from mario_a3c.metrics.live import LivePanel, can_show_panel
from mario_a3c.metrics.panel import View, render
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.schema import Record
from mario_a3c.run_dir import RunDir
from mario_a3c.training.build import Training

_NUM_RECORDS = 500


def wants_panel(config: DisplayConfig) -> bool:
    if config.display != "auto":
        return config.display == "panel"
    return not config.quiet and not config.verbose and can_show_panel(sys.stderr)


class RunDisplay:
    """The panel and what it knows. Records are added by the loop; the panel's thread only reads."""

    def __init__(self, config: TrainingConfig, training: Training, run_dir: RunDir) -> None:
        env, execution = config.vector_env.env, training.execution
        self._trainer = training.trainer
        stages = "{}-{}".format(*env.first_stage) + (" and others" if env.has_several_stages else "")
        self._title = f"mario · {stages} · {run_dir.path.name}"
        self._subtitle = f"{execution.device}, {execution.precision}"
        self._num_actions = training.envs[0].num_actions
        self._progress_unit = ProgressUnit.of_option(env.progress)
        self._records: deque[Record] = deque(maxlen=_NUM_RECORDS)
        self._ends: Sequence[float] = ()
        self._stage_length: float | None = None
        self.panel = LivePanel(sys.stderr, self._lines)

    def add(self, record: Record) -> None:
        episodes = self._trainer.parts.progress.recent.episodes
        cleared = episodes["progress"][episodes["end_reason"] == EndReason.FLAG]
        self._ends = episodes["progress"].tolist()
        if len(cleared):
            self._stage_length = float(np.max(cleared))
        self._records.append(record)

    def _phase(self) -> str:
        timing = self._trainer.parts.timing
        return f"collect {timing.rollout_progress:.0%}" if timing.pulse.phase == "collect" else timing.pulse.phase

    def _lines(self, columns: int) -> list[str]:
        trainer = self._trainer
        view = View(
            title=self._title,
            subtitle=self._subtitle,
            records=tuple(self._records),
            phase=self._phase(),
            update=trainer.parts.progress.num_updates,
            num_updates=trainer.budget.num_updates,
            is_eta_a_limit=trainer.budget.clear_rate_to_reach is not None,
            ends=self._ends,
            stage_length=self._stage_length,
            progress_unit=self._progress_unit,
            num_actions=self._num_actions,
        )
        return render(view, columns)
