"""A study: what is tried, what counts, what is kept."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import read_config
from mario_a3c.config.presets import preset_config
from mario_a3c.errors import ConfigError, NumericsError
from mario_a3c.models.config import ModelConfig
from mario_a3c.search import study
from mario_a3c.search.config import StudyConfig
from mario_a3c.search.study import run_study
from mario_a3c.training.run import TrainingResult
from mario_a3c.training.stopping import StopReason
from tests.support.runs import corridor_config, play_the_corridor

optuna = pytest.importorskip("optuna")


class Runs:
    """In the place of `run_training`: returns are those that are given, and then 0."""

    def __init__(self, *outcomes: float | Exception | StopReason) -> None:
        self.outcomes, self.configs = list(outcomes), list[TrainingConfig]()

    def __call__(self, config: TrainingConfig) -> TrainingResult:
        self.configs.append(config)
        outcome = self.outcomes.pop(0) if self.outcomes else 0.0
        if isinstance(outcome, Exception):
            raise outcome
        reason = outcome if isinstance(outcome, StopReason) else StopReason.UPDATES
        num_updates = config.budget.num_updates if reason is StopReason.UPDATES else 1
        value = outcome if isinstance(outcome, float) else 99.0
        return TrainingResult(reason, value, 0.0, 0.0, num_updates, 1, 1, 1.0, Path(), None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(study, "run_training", made)
    return made


def limits(folder: Path, **options: Any) -> StudyConfig:
    return StudyConfig(**{"trials": 6, "updates": 7, "out": folder / "search", **options})


def test_the_first_trial_is_what_was_given_and_the_best_is_a_config(runs: Runs, tmp_path: Path) -> None:
    runs.outcomes = [1.0, 2.0, 5.0, 3.0]
    given = preset_config("cpu")
    best = run_study(given, limits(tmp_path))
    first = runs.configs[0]
    assert (first.learner, first.model) == (given.learner, given.model)
    assert {config.budget.total_updates for config in runs.configs} == {7}
    assert len({config.run.run_name for config in runs.configs}) == len(runs.configs) == 6
    assert best is not None
    assert (best.number, best.value) == (2, 5.0)
    winner = read_config(TrainingConfig, best.config_path)
    assert (winner.learner, winner.model) == (runs.configs[2].learner, runs.configs[2].model)
    assert winner.budget == given.budget
    assert "--lr" in best.flags


def test_everything_that_is_searched_varies_and_residual_blocks_only_with_impala(runs: Runs, tmp_path: Path) -> None:
    run_study(replace(preset_config("gpu"), model=ModelConfig(backbone="impala")), limits(tmp_path, trials=12))
    for values in (
        {config.learner.lr for config in runs.configs},
        {config.learner.entropy_beta for config in runs.configs},
        {config.model.hidden_size for config in runs.configs},
        {config.model.recurrent_type for config in runs.configs},
        {config.model.residual_blocks for config in runs.configs},
    ):
        assert len(values) > 1
    num_before = len(runs.configs)
    run_study(preset_config("cpu"), limits(tmp_path, study_name="nature"))
    assert {config.model.residual_blocks for config in runs.configs[num_before:]} == {2}


def test_what_cannot_be_compared_does_not_count(runs: Runs, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runs.outcomes = [math.nan, NumericsError("not finite"), StopReason.SECONDS, 1.0, -1.0, -1.0]
    best = run_study(preset_config("cpu"), limits(tmp_path))
    assert best is not None
    assert (best.number, best.value) == (3, 1.0)
    assert "no episode has ended" in caplog.text


def test_an_interrupted_study_stops_and_goes_on_where_it_was(runs: Runs, tmp_path: Path) -> None:
    runs.outcomes = [1.0, StopReason.SIGNAL]
    run_study(preset_config("cpu"), limits(tmp_path))
    assert len(runs.configs) == 2
    runs.outcomes = [9.0]
    best = run_study(preset_config("cpu"), limits(tmp_path, trials=1))
    assert best is not None
    assert best.number == 2
    assert runs.configs[2].learner.lr != preset_config("cpu").learner.lr, "what was given has been tried"


def test_trials_are_real_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    play_the_corridor(monkeypatch)
    best = run_study(
        corridor_config(tmp_path), limits(tmp_path, trials=2, updates=3, storage=str(tmp_path / "a.journal"))
    )
    assert best is not None
    assert math.isfinite(best.value)
    assert (tmp_path / "a.journal").exists()
    assert (tmp_path / "search" / "runs" / "mario_0001" / "metrics.jsonl").exists()


def test_no_trial_is_no_study() -> None:
    with pytest.raises(ConfigError, match="--trials"):
        StudyConfig(trials=0)
