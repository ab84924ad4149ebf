"""What --teacher takes, and what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cli.train import parse_args
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.errors import CheckpointError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.ram_backbone import RamBackbone
from mario_a3c.training import teacher as under_test
from mario_a3c.training.agent import Agent
from mario_a3c.training.teacher import read_teacher
from tests.support.small_networks import make_network

FILE = Path("teacher.pt")


def config_of(**env: Any) -> TrainingConfig:
    return TrainingConfig(
        budget=BudgetConfig(total_updates=100),
        vector_env=MarioVectorEnvConfig(env=MarioEnvConfig(**env)),
        model=ModelConfig(backbone="ram" if env.get("observe") == "ram" else "impala"),
        learner=LearnerConfig(teacher=FILE, teacher_share=0.5),
    )


@pytest.fixture(autouse=True)
def the_agent(monkeypatch: pytest.MonkeyPatch) -> Agent:
    """In the file: simple actions, four frames, a nature network without a memory."""
    theirs = replace(config_of(), model=ModelConfig(backbone="nature"))
    agent = Agent(make_network(7), theirs, {"update": 3}, "averaged")
    monkeypatch.setattr(under_test, "find_checkpoint", lambda named, _: named)
    monkeypatch.setattr(under_test, "load_agent", lambda _: agent)
    return agent


def test_a_network_of_another_shape_may_teach(the_agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert read_teacher(config_of(), 0) is the_agent.model
    assert "follows the averaged weights of teacher.pt (update 3) at first" in caplog.text


def test_nobody_teaches_unasked() -> None:
    assert read_teacher(TrainingConfig(), 0) is None


def test_a_run_that_goes_on_after_its_lessons_does_not_need_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "load_agent", lambda _: pytest.fail("it was read"))
    assert read_teacher(config_of(), 50) is None


@pytest.mark.parametrize(
    ("env", "remedy"),
    [
        ({"action_set": "complex"}, "--action-set simple"),
        ({"frame_stack": 2}, "--frame-stack 4"),
        ({"show_buttons": True}, "--no-show-buttons"),
    ],
)
def test_who_sees_or_does_something_else_cannot_teach(env: dict[str, Any], remedy: str) -> None:
    with pytest.raises(CheckpointError, match=f"Train with {remedy}, or without --teacher"):
        read_teacher(config_of(**env), 0)


@pytest.fixture
def who_reads_memory(the_agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """In the file: one that was shown the console's RAM alone, a single frame of it."""
    reader = replace(the_agent, config=config_of(observe="ram", frame_stack=1))
    monkeypatch.setattr(under_test, "load_agent", lambda _: reader)
    return reader


def test_who_reads_memory_teaches_who_sees_pictures_where_both_are_shown(who_reads_memory: Agent) -> None:
    assert read_teacher(config_of(observe="both"), 0) is who_reads_memory.model
    assert read_teacher(config_of(observe="both", show_buttons=True), 0) is who_reads_memory.model
    with pytest.raises(CheckpointError, match="Train with --action-set simple"):
        read_teacher(config_of(observe="both", action_set="complex"), 0)


@pytest.mark.usefixtures("who_reads_memory")
def test_a_teacher_must_be_shown_what_it_knows() -> None:
    with pytest.raises(CheckpointError, match="is shown the ram, this run's network the picture: with --observe both"):
        read_teacher(config_of(), 0)


def test_a_teacher_of_pictures_needs_pictures() -> None:
    with pytest.raises(CheckpointError, match="is shown the picture, this run's network the ram"):
        read_teacher(config_of(observe="ram"), 0)
    both = replace(config_of(observe="both"), model=ModelConfig(backbone="ram"))
    assert read_teacher(both, 0) is not None


def test_who_has_a_memory_cannot_teach(the_agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    remembers = replace(the_agent, config=replace(the_agent.config, model=ModelConfig(recurrent_type="gru")))
    monkeypatch.setattr(under_test, "load_agent", lambda _: remembers)
    with pytest.raises(CheckpointError, match=r"has a memory \(gru\)"):
        read_teacher(config_of(), 0)


def test_the_published_teacher_fits_the_config_that_names_it(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.undo()  # the real file
    monkeypatch.chdir(repository)
    config = parse_args(["--device", "cpu", "--config", "configs/behind_teacher.json"]).training
    model = read_teacher(config, 0)
    assert model is not None
    assert isinstance(model.backbone, RamBackbone)
