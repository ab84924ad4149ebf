"""A policy trained here keeps its statistics, and a stored action log its end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.envs.play import replay
from mario_a3c.envs.recording import Recording
from mario_a3c.evaluation.config import MODES, InRunConfig
from mario_a3c.evaluation.episodes import list_episodes
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.evaluation.summary import summarize
from mario_a3c.native.console import Console
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, start_states
from mario_a3c.training.run import run_training
from tests.support.arenas import corridor_arena
from tests.support.runs import corridor_config, play_the_corridor
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor

DATA = Path(__file__).resolve().parents[2] / "support" / "data"


@pytest.mark.slow
def test_a_policy_that_was_trained_here_keeps_its_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training, saving, reading and playing agree: what learned the corridor walks it nearly straight."""
    play_the_corridor(monkeypatch)
    config = replace(corridor_config(tmp_path, total_updates=40), evaluation=InRunConfig(final_evaluation=False))
    result = run_training(config)
    assert result.checkpoint is not None
    weights = load_checkpoint(result.checkpoint).state["learner"]["model"]
    model = make_network(3, recurrent_type="gru")
    model.load_state_dict(weights)
    specs = list_episodes([Stage(1, 1)], MODES, 50)
    results = play_episodes(NetworkPlayer(model, torch.device("cpu")), corridor_arena, specs, seed=0)
    greedy, *drawn = summarize(results)
    assert (greedy.num_clears, greedy.median_steps) == (50, 8)
    assert greedy.mean_return == pytest.approx(Corridor(1).best_return)
    for summary in drawn:
        assert summary.clear_rate == 1.0
        assert summary.mean_return > 0.85
        assert summary.median_steps <= 12
    untrained = play_episodes(
        NetworkPlayer(make_network(3, recurrent_type="gru"), torch.device("cpu")), corridor_arena, specs[50:100], seed=0
    )
    assert np.mean([each.num_steps for each in untrained]) > 20  # the bar above is not one that anybody clears


def test_a_stored_action_log_leads_to_the_same_end(tiny_game: Path, tiny_cache: CacheDir) -> None:
    """Of a sticky episode, written by an earlier version: console, start state and format are as they were."""
    recording = Recording.load(DATA / "tiny_sticky.json")
    console = Console(tiny_game, allow_unknown_rom=True)
    start = start_states(open_rom(tiny_game, allow_unknown=True), tiny_cache)[recording.stage]
    assert recording.num_frames > 100
    assert replay(console, recording, start)
