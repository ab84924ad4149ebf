"""Which moments of a run are filmed, and who it was before its first update."""

from pathlib import Path

import pytest
import torch

from mario_a3c.checkpoint.names import update_in
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.models.execution import Execution
from mario_a3c.training import build
from mario_a3c.training.agent import load_agent, untrained
from mario_a3c.training.filming import FilmConfig, choose_moments, film_run
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.checkpoints import save_small
from tests.support.tasks import Corridor


def test_moments_are_at_equal_distances_from_the_beginning_to_the_end(tmp_path: Path) -> None:
    for update, seconds in enumerate((1.0, 2.0, 3.9, 6.2, 7.0, 9.0, 12.0), start=1):
        save_small(tmp_path, update, seconds=seconds)
    moments = choose_moments(tmp_path, 4)
    assert [seconds for seconds, _ in moments] == [0.0, 3.9, 7.0, 12.0]
    assert [path and update_in(path) for _, path in moments] == [None, 3, 5, 7]
    assert [seconds for seconds, _ in choose_moments(tmp_path, 8)] == [0.0, 1.0, 2.0, 3.9, 6.2, 7.0, 9.0, 12.0]
    with pytest.raises(CheckpointError, match="7 numbered checkpoints, and 9 moments need 8"):
        choose_moments(tmp_path, 9)

    for update, seconds in enumerate((2.0, 4.0, 6.0), start=1):
        save_small(tmp_path / "warm", update, seconds=seconds, initial_weights={"file": "other.pt"})
    assert [seconds for seconds, _ in choose_moments(tmp_path / "warm", 3)] == [2.0, 4.0, 6.0]


def test_a_rehearsal_plays_nothing_and_a_run_without_times_is_refused(tmp_path: Path) -> None:
    save_small(tmp_path, 1, seconds=3.0)
    assert film_run(tmp_path, FilmConfig(num_moments=2), is_rehearsal=True) == []
    save_small(tmp_path / "old", 1)
    with pytest.raises(CheckpointError, match="does not say when"):
        choose_moments(tmp_path / "old", 2)


def test_the_beginning_is_what_the_run_began_with(tmp_path: Path) -> None:
    config = tiny_agent_config()
    torch.manual_seed(123)  # whatever else draws numbers
    trained = load_agent(write_agent(tmp_path / "agent.pt", config))
    ours = dict(untrained(trained).model.named_parameters())
    envs = Corridor(2, frame_stack=1)
    envs.num_actions = len(trained.actions)
    built = build.make_model(config, config.model, Execution("cpu", "float32", "none", "test"), envs)
    theirs = dict(built.named_parameters())
    assert all(torch.equal(each, theirs[name]) for name, each in ours.items())
    assert not torch.equal(ours["actor.weight"], dict(trained.model.named_parameters())["actor.weight"])
    warm = load_agent(write_agent(tmp_path / "warm.pt", config, metadata={"initial_weights": {"file": "x"}}))
    with pytest.raises(CheckpointError, match="weights of another one"):
        untrained(warm)


def test_bad_numbers_are_named() -> None:
    for wrong in ({"num_moments": 1}, {"num_episodes": 0}, {"columns": 0}, {"speed": 0}, {"clip_seconds": 0.0}):
        with pytest.raises(ConfigError, match="must be at least"):
            FilmConfig(**wrong)
