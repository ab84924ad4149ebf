"""A trimmed agent plays like the whole one where what was left out had nothing to say."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.evaluation.episodes import list_episodes
from mario_a3c.models.config import ModelConfig
from mario_a3c.native.start_states import Stage
from mario_a3c.training.agent import Agent, export_agent, load_agent
from mario_a3c.training.trimming import measure_features, trim_agent
from tests.support.arenas import corridor_arena, tiny_agent_config, write_agent

HIDDEN = 16
SILENT = [0, 3, 4, 11]
SPECS = list_episodes([Stage(1, 1)], ["sampled"], 8)


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    """Exported weights of an agent some of whose features are never more than zero."""
    config = replace(
        tiny_agent_config(actions=("noop", "right", "A")), model=ModelConfig(backbone="nature", hidden_size=HIDDEN)
    )
    whole = load_checkpoint(write_agent(tmp_path / "run.pt", config))
    learner = dict(whole.state["learner"])
    learner["model"] = {name: each.clone() for name, each in learner["model"].items()}
    learner["model"]["backbone.fc.bias"][SILENT] = -1000.0
    save_checkpoint(tmp_path / "run.pt", {**whole.state, "learner": learner}, whole.metadata)
    export_agent(tmp_path / "run.pt", tmp_path / "big.pt", "last")
    return tmp_path / "big.pt"


def measure(agent: Agent) -> torch.Tensor:
    return measure_features(agent, corridor_arena, SPECS, seed=0)


def test_features_that_say_nothing_are_not_missed(agent_file: Path, tmp_path: Path) -> None:
    big = load_agent(agent_file)
    heard = measure(big)
    assert set(torch.nonzero(heard == 0).flatten().tolist()) >= set(SILENT)
    num_heard = int((heard > 0).sum())
    trimmed = trim_agent(agent_file, tmp_path / "small.pt", heard, num_heard)
    assert (trimmed.num_before, trimmed.num_kept) == (HIDDEN, num_heard)
    assert trimmed.share_heard == pytest.approx(1.0)

    small = load_agent(tmp_path / "small.pt")
    assert small.config.model.hidden_size == num_heard
    assert small.metadata["note"] == f"trimmed from {HIDDEN} features"
    assert (tmp_path / "small.pt").stat().st_size < agent_file.stat().st_size
    arena = corridor_arena("sampled", 16)
    observations = torch.from_numpy(arena.observations)
    for before, after in zip(big.model(observations)[:2], small.model(observations)[:2], strict=True):
        torch.testing.assert_close(before, after)


def test_those_that_are_heard_most_stay_in_their_order(agent_file: Path, tmp_path: Path) -> None:
    heard = torch.zeros(HIDDEN)
    heard[[9, 2, 5]] = torch.tensor([1.0, 3.0, 2.0])
    heard[7] = 0.5
    trimmed = trim_agent(agent_file, tmp_path / "small.pt", heard, 3)
    assert trimmed.share_heard == pytest.approx(6.0 / 6.5)
    before, after = (load_agent(path).model.backbone.fc.weight for path in (agent_file, tmp_path / "small.pt"))
    assert torch.equal(after, before[[2, 5, 9]])


def test_what_cannot_be_trimmed_is_said(agent_file: Path, tmp_path: Path) -> None:
    heard = torch.ones(HIDDEN)
    for source, target in ((tmp_path / "run.pt", tmp_path / "small.pt"), (agent_file, agent_file)):
        with pytest.raises(CheckpointError, match="into another file, from one that `mario checkpoint export` wrote"):
            trim_agent(source, target, heard, 4)
    with pytest.raises(ConfigError, match=r"--features must be in \[1, 16\], .* got 17"):
        trim_agent(agent_file, tmp_path / "small.pt", heard, 17)
    remembering = load_agent(write_agent(tmp_path / "gru.pt", tiny_agent_config()))
    with pytest.raises(CheckpointError, match="without memory"):
        measure(remembering)
