"""Specialists: which stages are trained, that what is there stays, and that nothing stops the others."""

import json
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.checkpoint.names import CheckpointNames, all_numbered
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig
from mario_a3c.errors import ConfigError, ExitCode, NumericsError, StorageError
from mario_a3c.evaluation.report import FORMAT
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.config import ExecutionConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage
from mario_a3c.run_dir import RunDir
from mario_a3c.search import specialists as module
from mario_a3c.search.config import SpecialistsConfig
from mario_a3c.search.specialists import Outcome, stages_asked_for, train_specialists
from mario_a3c.training.agent import load_agent
from mario_a3c.training.run import TrainingResult
from mario_a3c.training.stopping import StopReason, StopRequest
from mario_a3c.training.trainer import Trainer
from tests.support.arenas import tiny_agent_config, write_agent

FIRST, SECOND, THIRD = Stage(1, 1), Stage(1, 2), Stage(1, 3)


class Runs:
    """In the place of `run_training`: clears the stage, unless another outcome is given for it."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Exception | StopReason] = {}
        self.configs = list[TrainingConfig]()

    @property
    def stages(self) -> list[str]:
        return [config.vector_env.env.stages for config in self.configs]

    def __call__(self, config: TrainingConfig, *, stop: StopRequest) -> TrainingResult:
        self.configs.append(config)
        env = config.vector_env.env
        outcome = self.outcomes.get(env.stages, StopReason.CLEARED)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is StopReason.SIGNAL:
            stop.set()
        folder = RunDir.open(config.run.save_dir, str(config.run.run_name)).path
        path = write_agent(CheckpointNames(*env.first_stage).numbered(folder, 3), config)
        return TrainingResult(outcome, 5.0, 0.97, 99.0, 3, 1234, 7, 2.5, folder, path)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(module, "run_training", made)
    return made


@pytest.fixture
def config(tiny_game: Path, tiny_cache: CacheDir) -> TrainingConfig:
    """Of the home-made game; three updates make a run."""
    plain = tiny_agent_config()
    return replace(
        plain,
        budget=BudgetConfig(total_updates=3),
        vector_env=replace(plain.vector_env, num_envs=2, num_threads=1),
        collector=CollectorConfig(rollout_steps=4),
        learner=LearnerConfig(minibatches=1),
        execution=ExecutionConfig(device="cpu"),
        engine=EngineConfig(engine="interpreter"),
        rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
        cache=CacheConfig(cache_dir=tiny_cache.root),
    )


@pytest.fixture
def train(config: TrainingConfig, tmp_path: Path) -> Callable[..., Outcome]:
    def train(*stages: Stage, **options: Any) -> Outcome:
        return train_specialists(config, SpecialistsConfig(**{"out": tmp_path, **options}), stages)

    return train


def write_report(path: Path, *contenders: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"format": FORMAT, "contenders": contenders}))
    return path


def test_every_stage_is_a_run_of_its_own_and_its_weights_load(
    runs: Runs, config: TrainingConfig, tmp_path: Path
) -> None:
    given = replace(
        config,
        budget=replace(config.budget, total_updates=None),
        run=replace(config.run, init_from=Path("parent.pt")),
        evaluation=replace(config.evaluation, video_interval=5),
    )
    outcome = train_specialists(given, SpecialistsConfig(out=tmp_path, seconds=7.0), [FIRST, SECOND])
    assert runs.stages == ["1-1", "1-2"]
    for made in runs.configs:
        assert (made.run.save_dir, made.run.run_name) == (tmp_path / "runs", made.vector_env.env.stages)
        assert (made.budget.max_seconds, made.budget.clear_rate_to_reach) == (7.0, 0.95)
        assert made.run.init_from == Path("parent.pt")
        assert (made.metrics.tensorboard, made.evaluation.final_evaluation, made.evaluation.video_interval) == (0, 0, 0)
    agent = load_agent(tmp_path / "1-2.pt")
    assert (agent.config.vector_env.env.stages, agent.weights) == ("1-2", "last")
    assert agent.metadata["precision"] == "float16"
    assert (outcome.failed, outcome.is_interrupted) == ([], False)
    table = (tmp_path / "specialists.md").read_text()
    assert "| 1-2 | cleared | 97% | 1,234 | 2.5 | `1-2.pt` |" in table.splitlines()


def test_what_is_there_is_skipped(
    runs: Runs, train: Callable[..., Outcome], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    train(SECOND)
    outcome = train(FIRST, SECOND, THIRD)
    assert runs.stages == ["1-2", "1-1", "1-3"]
    assert "1-2 is skipped" in caplog.text
    assert [each.stage for each in outcome.specialists] == ["1-1", "1-2", "1-3"]
    (tmp_path / "specialists.json").unlink()
    (found,) = train(SECOND).specialists
    assert (found.num_steps, found.has_weights) == (99, True), "what nobody noted is read from the file"
    (tmp_path / "specialists.json").write_text("{")
    with pytest.raises(StorageError, match="another --out"):
        train(SECOND)


@pytest.mark.parametrize("error", [NumericsError("not finite"), ConfigError("no way through 1-2 was found")])
def test_a_run_that_fails_does_not_stop_the_others(
    runs: Runs, train: Callable[..., Outcome], tmp_path: Path, error: Exception
) -> None:
    runs.outcomes = {"1-2": error}
    outcome = train(FIRST, SECOND, THIRD)
    assert runs.stages == ["1-1", "1-2", "1-3"]
    assert [each.stage for each in outcome.failed] == ["1-2"]
    assert f"| 1-2 | failed: {error} | 0% | 0 | 0.0 | none |" in (tmp_path / "specialists.md").read_text()
    runs.outcomes = {}
    assert not train(FIRST, SECOND, THIRD).failed
    assert runs.stages[3:] == ["1-2"]


def test_after_an_interruption_the_others_wait(runs: Runs, train: Callable[..., Outcome], tmp_path: Path) -> None:
    runs.outcomes = {"1-2": StopReason.SIGNAL}
    outcome = train(FIRST, SECOND, THIRD)
    assert outcome.is_interrupted
    assert runs.stages == ["1-1", "1-2"]
    assert not (tmp_path / "1-2.pt").exists()
    noted = json.loads((tmp_path / "specialists.json").read_text())
    assert [(each["stage"], each["ended"]) for each in noted] == [("1-1", "cleared"), ("1-2", "interrupted")]


def test_an_interrupted_run_goes_on_and_a_finished_one_without_weights_begins_anew(
    train: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real runs, of three updates each."""
    with monkeypatch.context() as patch:
        record, num_recorded = Trainer.record, 0

        def interrupt(self: Trainer, *arguments: Any) -> None:
            nonlocal num_recorded
            record(self, *arguments)
            num_recorded += 1
            if num_recorded == 5:
                self.stop.set()

        patch.setattr(Trainer, "record", interrupt)
        assert train(FIRST, SECOND, THIRD).is_interrupted
    assert sorted(path.name for path in tmp_path.glob("*.pt")) == ["1-1.pt"]
    assert updates_of(tmp_path / "runs" / "1-2") == [2]
    (tmp_path / "1-1.pt").unlink()
    budgets = list[float]()
    settings_of = module.settings_of

    def note_budget(*arguments: Any) -> TrainingConfig:
        settings = settings_of(*arguments)
        budgets.append(settings.budget.max_seconds or 0.0)
        return settings

    monkeypatch.setattr(module, "settings_of", note_budget)
    outcome = train(FIRST, SECOND, seconds=50.0)
    assert (outcome.failed, outcome.is_interrupted) == ([], False)
    assert budgets[0] == 50.0, "of a run that began anew"
    assert 0 < budgets[1] < 50.0, "less what it had before"
    assert load_agent(tmp_path / "1-2.pt").update == 3
    assert updates_of(tmp_path / "runs" / "1-2") == [3], "the others are removed"
    assert len(list((tmp_path / "runs").glob("1-1.*"))) == 1, "the old one was set aside"


def updates_of(run: Path) -> list[int]:
    return [int(path.stem.rpartition("_")[2]) for path in all_numbered(run)]


def test_only_stages_that_no_agent_of_the_report_clears(config: TrainingConfig, tmp_path: Path) -> None:
    report = write_report(
        tmp_path / "report.json",
        {"is_baseline": False, "cleared": {"1-1": True, "1-2": False, "1-3": None}},
        {"is_baseline": False, "cleared": {"1-1": False, "1-4": True}},
        {"is_baseline": True, "cleared": {"1-2": True}},
    )
    asked = stages_asked_for(config, SpecialistsConfig(stages="1-1..2-1", report=report))
    assert list(map(str, asked)) == ["1-2", "1-3", "2-1"]
    assert len(stages_asked_for(config, SpecialistsConfig())) == 32


def test_flags_that_would_be_overridden_are_refused(config: TrainingConfig) -> None:
    env = replace(config.vector_env.env, stages="1-1,1-2")
    given = replace(
        config,
        vector_env=replace(config.vector_env, env=env),
        budget=replace(config.budget, max_seconds=5.0),
        run=replace(config.run, resume="latest"),
    )
    with pytest.raises(ConfigError, match="leave --stages, --max-seconds, --resume out"):
        stages_asked_for(given, SpecialistsConfig())
    with pytest.raises(ConfigError, match="--seconds"):
        SpecialistsConfig(seconds=0)


def test_the_command(
    runs: Runs,
    repository: Path,
    tiny_game: Path,
    tiny_cache: CacheDir,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main = runpy.run_path(str(repository / "scripts" / "train_specialists.py"))["main"]
    game = f"--preset cpu --rom {tiny_game} --allow-unknown-rom --cache-dir {tiny_cache.root} --quiet"
    actions = "--action-set custom --actions noop right A"
    command = [*f"--stages 1-1,1-2 --out {tmp_path}".split(), "--", *f"{game} {actions}".split()]
    assert main(["--dry-run", *command]) == ExitCode.DONE
    assert "would train for 1-1, 1-2, at most 60 s each" in capsys.readouterr().out
    assert not runs.configs
    runs.outcomes = {"1-2": StopReason.SIGNAL}
    assert main(command) == ExitCode.STOPPED
    runs.outcomes = {"1-2": NumericsError("not finite")}
    assert main(command) == 1
    runs.outcomes = {}
    assert main(command) == ExitCode.DONE
    *_, table, following = capsys.readouterr().out.splitlines()
    assert table.startswith("| 1-2 | cleared |")
    assert f"mario report {tmp_path}/*.pt --stages 1-1,1-2" in following
    assert f"choose_agents.py {tmp_path}/report/report.json --folder {tmp_path}" in following
    report = write_report(tmp_path / "report.json", {"is_baseline": False, "cleared": {"1-1": True, "1-2": True}})
    assert main(["--report", str(report), *command]) == ExitCode.DONE
    assert "nothing to train" in capsys.readouterr().out
