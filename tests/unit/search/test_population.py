"""A population: who goes on from whom, with what, and that it goes on itself."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import read_config
from mario_a3c.config.presets import preset_config
from mario_a3c.errors import ConfigError, NumericsError
from mario_a3c.search import population as module
from mario_a3c.search.config import PopulationConfig
from mario_a3c.search.population import Member, next_generation, run_population
from mario_a3c.training.run import TrainingResult
from mario_a3c.training.stopping import StopReason
from tests.support.runs import corridor_config, play_the_corridor


def limits(folder: Path, **options: Any) -> PopulationConfig:
    return PopulationConfig(**{"members": 4, "generations": 3, "updates": 5, "out": folder / "population", **options})


class Runs:
    """In the place of `run_training`: the smaller the learning rate, the better. `interrupted_at` counts runs."""

    def __init__(self, interrupted_at: int = -1) -> None:
        self.configs, self.interrupted_at = list[TrainingConfig](), interrupted_at

    def __call__(self, config: TrainingConfig) -> TrainingResult:
        self.configs.append(config)
        if len(self.configs) - 1 == self.interrupted_at:
            return TrainingResult(StopReason.SIGNAL, 0.0, 0.0, 0.0, 1, 1, 1, 1.0, Path(), None)
        return TrainingResult(StopReason.UPDATES, -math.log(config.learner.lr), 0.0, 0.0, 5, 1, 1, 1.0, Path(), None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(module, "run_training", made)
    return made


def test_the_worst_goes_on_from_the_best_and_the_others_go_on(runs: Runs, tmp_path: Path) -> None:
    outcome = run_population(preset_config("cpu"), limits(tmp_path))
    assert outcome is not None
    assert outcome.is_complete
    assert len(runs.configs) == 12
    first = runs.configs[:4]
    assert first[0].learner.lr == preset_config("cpu").learner.lr
    assert len({config.learner.lr for config in first}) == 4
    best, worst = (pick(range(4), key=lambda n: first[n].learner.lr) for pick in (min, max))
    second = runs.configs[4:8]
    assert str(second[worst].run.init_from) == str(tmp_path / "population" / "runs" / f"member_{best:02d}_000")
    assert second[worst].learner.lr / first[best].learner.lr in (pytest.approx(1.2), pytest.approx(1 / 1.2))
    for number in set(range(4)) - {worst}:
        assert (second[number].run.resume, second[number].budget.total_updates) == ("latest", 10)
        assert second[number].learner.lr == first[number].learner.lr
    assert outcome.best.lr == min(config.learner.lr for config in runs.configs)
    assert read_config(TrainingConfig, outcome.config_path).learner.lr == outcome.best.lr


def test_an_interrupted_population_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, runs: Runs
) -> None:
    whole = run_population(preset_config("cpu"), limits(tmp_path / "whole"))
    broken = Runs(interrupted_at=6)
    monkeypatch.setattr(module, "run_training", broken)
    halted = run_population(preset_config("cpu"), limits(tmp_path))
    assert halted is not None
    assert not halted.is_complete
    assert len(broken.configs) == 7
    rest = Runs()
    monkeypatch.setattr(module, "run_training", rest)
    gone_on = run_population(preset_config("cpu"), limits(tmp_path))
    assert len(rest.configs) == 12 - 6
    assert gone_on is not None
    assert whole is not None
    assert (gone_on.best.number, gone_on.best.lr) == (whole.best.number, whole.best.lr)
    with pytest.raises(ConfigError, match="--members is 5"):
        run_population(preset_config("cpu"), limits(tmp_path, members=5))


def test_a_member_that_breaks_is_the_worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: TrainingConfig) -> TrainingResult:
        raise NumericsError("not finite")

    monkeypatch.setattr(module, "run_training", breaks)
    assert run_population(preset_config("cpu"), limits(tmp_path, generations=1)) is None


def test_equals_are_left_alone() -> None:
    members = [Member(number, 1e-3, 1e-2, value=1.0, generation=1, run=str(number)) for number in range(4)]
    assert next_generation(members, limits(Path()), 0) == members
    better = [replace(members[0], value=2.0), *members[1:]]
    assert sum(bool(each.parent) for each in next_generation(better, limits(Path()), 0)) == 1


def test_members_are_real_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    play_the_corridor(monkeypatch)
    config = replace(corridor_config(tmp_path))
    outcome = run_population(config, limits(tmp_path, members=2, generations=2, updates=2, replaced_share=0.5))
    assert outcome is not None
    assert outcome.is_complete
    assert outcome.best.generation == 2
    assert (Path(outcome.best.run) / "run.json").exists()
