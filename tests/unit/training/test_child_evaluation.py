"""An evaluation by a process of its own."""

import logging
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.training.child_evaluation import ChildEvaluation
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import write_tiny_game


def agent_place(folder: Path) -> dict[str, Any]:
    checkpoint = load_checkpoint(write_agent(folder / "agent.pt", tiny_agent_config()))
    return {
        "folder": folder, "update": 7, "learner_state": checkpoint.state["learner"], "metadata": checkpoint.metadata,
        "rom": write_tiny_game(folder), "cache_dir": folder / "cache", "num_episodes": 4, "seed": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_an_evaluation_in_a_process_of_its_own(tmp_path: Path) -> None:
    child = ChildEvaluation.start(**agent_place(tmp_path))
    child.wait()
    (summary,) = child.result()
    assert (summary["stage"], summary["mode"], summary["num_episodes"]) == ("1-1", "sampled", 4)
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith("evaluating")}
    assert left == {"evaluating.log"}


def test_an_evaluation_that_fails_is_told_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    child = ChildEvaluation.start(**{**agent_place(tmp_path), "num_episodes": 0})
    child.wait()
    with caplog.at_level(logging.WARNING, "mario.eval"):
        assert child.result() == []
    assert "evaluation of update 7 failed" in caplog.text
    assert "--episodes" in (tmp_path / "evaluating.log").read_text()
