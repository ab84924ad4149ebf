"""What one part of the tree says against another."""

from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.checkpoint.store import read_metadata
from mario_a3c.cli.train import parse_args
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.errors import ConfigError, SetupError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.models.config import ModelConfig
from mario_a3c.training.agent import config_in

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("curriculum", ["starts", "both"])
def test_starts_are_moved_or_fixed_but_not_both(curriculum: str) -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        TrainingConfig(
            curriculum=CurriculumConfig(curriculum=curriculum),  # type: ignore[arg-type]
            starts=StartConfig(start_late=0.3),
        )
    TrainingConfig(curriculum=CurriculumConfig(curriculum="stages"), starts=StartConfig(start_late=0.3))


def test_a_potential_needs_a_map() -> None:
    with pytest.raises(ConfigError, match="--progress map"):
        MarioEnvConfig(reward=RewardConfig(shaping="potential"))


def test_who_reads_memory_must_be_shown_it() -> None:
    reader, shown = ModelConfig(backbone="ram"), MarioVectorEnvConfig(env=MarioEnvConfig(observe="ram"))
    for wrong in ({"model": reader}, {"vector_env": shown}):
        with pytest.raises(ConfigError, match="--backbone ram and --observe ram belong together"):
            TrainingConfig(**wrong)
    TrainingConfig(model=reader, vector_env=shown)
    both = MarioVectorEnvConfig(env=MarioEnvConfig(observe="both"))
    assert TrainingConfig(vector_env=both) != TrainingConfig(vector_env=both, model=reader), "either may be shown both"


@pytest.mark.parametrize("wrong", [{"clear_rate_to_move": 0.0}, {"real_starts": 1.5}, {"stage_floor": 0.0}])
def test_curricula_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        CurriculumConfig(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("flags", "minibatches"), [([], 8), (["--num-envs", "4"], 4), (["--num-envs", "64"], 8)])
def test_fewer_environments_than_a_preset_has_are_no_error(flags: list[str], minibatches: int) -> None:
    config = parse_args(["--preset", "cpu", *flags]).training
    assert config.learner.minibatches == minibatches
    with pytest.raises(SystemExit):
        parse_args(["--preset", "cpu", "--num-envs", "4", "--minibatches", "5"])


@pytest.mark.parametrize(
    ("flags", "is_compiled"), [([], False), (["--backbone", "impala"], True), (["--compile"], True)]
)
def test_the_preset_gpu_compiles_what_takes_long(flags: list[str], is_compiled: bool) -> None:
    assert parse_args(["--preset", "gpu", *flags]).training.execution.compile is is_compiled


def test_a_gpu_that_must_be_there_may_be_missing_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.delenv("MARIO_ALLOW_CPU_AUTO", raising=False)
    with pytest.raises(SetupError, match="--allow-cpu"):
        parse_args(["--device", "auto"])
    config = parse_args(["--device", "auto", "--allow-cpu"]).training
    assert (config.preset, config.execution.device_to_choose) == ("cpu", "best")


def test_a_run_may_need_half_as_many_updates_again_as_were_planned() -> None:
    planned, given = BudgetConfig(planned_updates=101), BudgetConfig(total_updates=7)
    assert (planned.num_scheduled_updates, planned.num_updates) == (101, 152)
    assert (given.num_scheduled_updates, given.num_updates) == (7, 7)


def test_the_config_for_all_stages_and_some_flags_are_what_a_published_agent_was_trained_with() -> None:
    """As docs/experiments.md tells of it."""
    agent = REPOSITORY / "pretrained" / "twenty.pt"
    published = config_in(agent, read_metadata(agent))
    flags = "--lr 2.5e-4 --lr-final-share 0.03 --value-coef 3 --gamma 0.999 --gamma-final 0.9995 --stage-floor 0.5"
    named = ["--config", str(REPOSITORY / "configs" / "all_stages.json")]
    assert parse_args(named).training.vector_env.env.stages == "all"
    config = parse_args([*named, "--stages", published.vector_env.env.stages, *flags.split()]).training
    assert read_metadata(agent)["note"] == f"trimmed from {config.model.hidden_size} features"
    config = replace(config, model=replace(config.model, hidden_size=published.model.hidden_size))
    of_learning = ("collector", "model", "execution", "learner", "returns", "replay")
    for part in ("preset", "vector_env", "starts", "curriculum", *of_learning):
        assert getattr(config, part) == getattr(published, part), part
