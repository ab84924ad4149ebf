"""A run is evaluated while it goes on, stays the same to the last bit, and ends when fresh episodes say so."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.config import TrainingConfig
from mario_a3c.errors import ConfigError
from mario_a3c.evaluation.config import InRunConfig
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.metrics.schema import EVALUATIONS
from mario_a3c.native.start_states import Stage
from mario_a3c.training import evaluating
from mario_a3c.training.evaluating import CONFIRMING_EPISODES
from mario_a3c.training.evaluator import Evaluator, Moment, Place
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopReason
from tests.support.arenas import corridor_arena
from tests.support.episode_results import result_of
from tests.support.runs import NUM_ENVS, corridor_config, digest_of


@pytest.fixture(autouse=True)
def _place(corridor: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "place_of", lambda *_: Place(corridor_arena, [Stage(1, 1)]))


def evaluated(folder: Path, name: str = "corridor") -> list[dict[str, Any]]:
    path = folder / "runs" / name / "evaluations.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def config_of(folder: Path, in_run: InRunConfig, **budget: Any) -> TrainingConfig:
    return replace(corridor_config(folder, **budget), evaluation=in_run)


def test_an_evaluated_run_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    digests = []
    for name, in_run in (("a", InRunConfig()), ("b", InRunConfig(eval_interval=2, eval_episodes=3))):
        run_training(config_of(tmp_path / name, in_run, total_updates=6))
        state = load_checkpoint(tmp_path / name / "runs" / "corridor" / "a3c_world1_stage1_latest.pt").state
        digests.append(digest_of({key: value for key, value in state.items() if key != "progress"}))
    assert digests[0] == digests[1]
    assert evaluated(tmp_path / "a") == []
    assert [each["update"] for each in evaluated(tmp_path / "b")] == [2, 4, 6]


def test_evaluations_are_written_down_and_the_best_weights_kept(tmp_path: Path) -> None:
    run_training(config_of(tmp_path, InRunConfig(eval_interval=3, eval_episodes=16), total_updates=12))
    lines = evaluated(tmp_path)
    assert [each["update"] for each in lines] == [3, 6, 9, 12]
    assert list(lines[0]) == [field.name for field in EVALUATIONS]
    assert lines[-1]["summaries"][0]["num_episodes"] == 16
    first, last = (lines[place]["summaries"][0]["mean_return"] for place in (0, -1))
    assert last > first  # it has learned something
    best = load_checkpoint(tmp_path / "runs" / "corridor" / "evaluated_best.pt")
    assert best.metadata["evaluated_clear_rate"] == max(each["clear_rate"] for each in lines)
    (moment,) = (each for each in lines if each["update"] == best.metadata["update"])
    assert moment["global_step"] == 16 * NUM_ENVS * moment["update"]
    assert {name: best.metadata[name] for name in Moment._fields} == {name: moment[name] for name in Moment._fields}
    assert set(best.state) == {"learner"}


def test_a_run_ends_when_fresh_episodes_confirm_what_training_saw(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mario"):
        result = run_training(config_of(tmp_path, InRunConfig(), planned_updates=400))
    assert result.reason is StopReason.CLEARED
    *_, confirmation, final = evaluated(tmp_path)
    assert (confirmation["kind"], confirmation["summaries"][0]["num_episodes"]) == ("confirmation", CONFIRMING_EPISODES)
    assert confirmation["clear_rate"] >= 0.95
    assert (final["kind"], len(final["summaries"])) == ("final", 4)
    written = json.loads((result.run_dir / "evaluation.json").read_text())
    assert len(written["episodes"]) == 4 * 25
    assert f"{CONFIRMING_EPISODES} fresh ones follow" in caplog.text


def test_a_run_goes_on_while_fresh_episodes_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def play(self: Evaluator, *_: Any, **__: Any) -> list[EpisodeResult]:
        asked.append(self.progress.num_episodes)
        return [result_of(number=n, is_clear=len(asked) == 3 or n > 12) for n in range(CONFIRMING_EPISODES)]

    monkeypatch.setattr(Evaluator, "play", play)
    in_run = InRunConfig(final_evaluation=False)
    result = run_training(config_of(tmp_path, in_run, planned_updates=400, clear_window=20))
    assert result.reason is StopReason.CLEARED
    assert len(asked) == 3
    assert asked[1] - asked[0] >= 20  # not again before the window is a new one
    assert asked[2] - asked[1] >= 20


def test_fresh_episodes_are_asked_before_training_has_reached_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def play(self: Evaluator, *_: Any, **__: Any) -> list[EpisodeResult]:
        asked.append(self.progress.clear_rate)
        return [result_of(number=n) for n in range(CONFIRMING_EPISODES)]

    monkeypatch.setattr(Evaluator, "play", play)
    for name, margin in (("near", 0.5), ("there", 0.0)):
        in_run = InRunConfig(final_evaluation=False, confirm_margin=margin)
        result = run_training(config_of(tmp_path / name, in_run, planned_updates=400, clear_window=20))
        assert result.reason is StopReason.CLEARED
    assert 0.45 <= asked[0] < 0.95 <= asked[1]
    with pytest.raises(ConfigError, match="--confirm-margin must be in"):
        InRunConfig(confirm_margin=1.0)


def test_fresh_episodes_stop_as_soon_as_too_many_have_failed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    in_run = InRunConfig(final_evaluation=False, confirm_margin=0.95)  # asked while it knows nothing yet
    budget = {"planned_updates": 6, "clear_window": 5}
    with caplog.at_level(logging.INFO, "mario"):
        result = run_training(config_of(tmp_path, in_run, **budget))
    assert result.reason is StopReason.PLAN
    first, *_ = evaluated(tmp_path)
    (summary,) = first["summaries"]
    num_failures = summary["num_episodes"] - summary["num_clears"]
    assert (first["kind"], first["is_complete"], first["clear_rate"]) == ("confirmation", False, None)
    assert 13 <= num_failures <= summary["num_episodes"] < CONFIRMING_EPISODES
    assert f"{num_failures} of {CONFIRMING_EPISODES} failed: the others are not played" in caplog.text


def test_what_was_not_asked_for_is_not_done(tmp_path: Path) -> None:
    in_run = InRunConfig(confirm_clear=False, final_evaluation=False)
    result = run_training(config_of(tmp_path, in_run, planned_updates=400, clear_window=5))
    assert result.reason is StopReason.CLEARED
    assert evaluated(tmp_path) == []
    for wrong in ({"eval_interval": -1}, {"eval_episodes": 0}, {"video_interval": -5}):
        with pytest.raises(ConfigError, match="--"):
            InRunConfig(**wrong)  # type: ignore[arg-type]
