"""Whether fresh episodes end a run: how many must be clears, how often they are played, with what weights."""

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.native.start_states import Stage
from mario_a3c.training.clear_confirmation import ClearConfirmation, ClearRule, modes_to_confirm
from mario_a3c.training.evaluator import Moment, Weights
from tests.support.episode_results import series


@pytest.mark.parametrize(
    ("rate", "num_episodes", "max_failures"),
    [(0.95, 400, 12), (0.95, 416, 13), (0.95, 100, 1), (0.9, 200, 12), (0.5, 400, 183), (0.99, 100, 0), (1.0, 7, 0)],
)
def test_a_rule_allows_as_many_failures_as_chance_allows_once_in_twenty(
    rate: float, num_episodes: int, max_failures: int
) -> None:
    rule = ClearRule(rate, num_episodes)
    assert rule.max_failures == max_failures
    enough, too_few = (
        series("sampled", num_episodes - failures, num_episodes) for failures in (max_failures, max_failures + 1)
    )
    assert rule.is_met_by(enough)
    assert not rule.is_lost_with(enough)
    assert not rule.is_met_by(too_few)
    assert rule.is_lost_with(too_few)


def test_an_agent_of_the_rate_itself_seldom_passes_and_a_better_one_does() -> None:
    generator = np.random.default_rng(0)
    rule = ClearRule(0.95, 400)

    def share_of_passes(rate: float) -> float:
        return float((generator.binomial(400, 1 - rate, 10_000) <= rule.max_failures).mean())

    assert 0.02 < share_of_passes(0.95) < 0.05
    assert share_of_passes(0.98) > 0.9


def test_clears_that_are_not_all_meet_no_rule() -> None:
    some = series("sampled", 99, 99)
    assert not ClearRule(0.95, 100).is_met_by(some)
    assert not ClearRule(0.95, 100).is_lost_with(some)


class FakeEvaluator:
    """Plays what it was told, and remembers what it was asked for."""

    def __init__(self, *answers: Sequence[EpisodeResult], num_stages: int = 1, sticky: float = 0.0) -> None:
        self.config = SimpleNamespace(vector_env=SimpleNamespace(env=MarioEnvConfig(sticky=sticky)))
        self.place = SimpleNamespace(stages=[Stage(1, number + 1) for number in range(num_stages)])
        self.progress = SimpleNamespace(num_episodes=0, clear_rate=0.9, window_size=50, seconds=12.0)
        self.moment = Moment(3, 99, 12.0)
        self.played: list[dict[str, Any]] = []
        self.noted: list[tuple[Any, ...]] = []
        self.num_copies = 0
        self._answers = list(answers)

    def weights(self) -> Weights:
        self.num_copies += 1
        return Weights({}, "averaged")

    def play(self, modes: Sequence[str], num_episodes: int, **options: Any) -> Sequence[EpisodeResult]:
        self.played.append({"modes": modes, "num_episodes": num_episodes, **options})
        return self._answers.pop(0)

    def note(self, summaries: Sequence[Any], moment: Moment, kind: str, *, is_complete: bool) -> None:
        self.noted.append((sum(each["num_episodes"] for each in summaries), moment, kind, is_complete))


def confirmation_of(evaluator: FakeEvaluator, num_episodes: int = 100, between: int = 40) -> ClearConfirmation:
    stand_in: Any = evaluator
    return ClearConfirmation(stand_in, 0.95, num_episodes, episodes_between=between)


def test_fresh_episodes_end_a_run_and_are_written_down(caplog: pytest.LogCaptureFixture) -> None:
    evaluator = FakeEvaluator(series("sampled", 99, 100))
    with caplog.at_level(logging.INFO, "mario.eval"):
        assert confirmation_of(evaluator).confirms()
    assert evaluator.noted == [(100, evaluator.moment, "confirmation", True)]
    said = "clear rate 90% of the last 50 training episodes after 12.0 s; 100 fresh ones follow (sampled), averaged"
    assert said in caplog.text


def test_the_weights_that_are_named_are_the_ones_that_play() -> None:
    evaluator = FakeEvaluator(series("sampled", 100, 100))
    confirmation_of(evaluator).confirms()
    assert evaluator.num_copies == 1
    assert evaluator.played[0]["weights"] == Weights({}, "averaged")


def test_it_is_not_asked_again_before_so_many_training_episodes() -> None:
    evaluator = FakeEvaluator(series("sampled", 90, 100), series("sampled", 99, 100))
    confirmation = confirmation_of(evaluator, between=40)
    for num_episodes, is_confirmed, num_played in ((100, False, 1), (139, False, 1), (140, True, 2)):
        evaluator.progress.num_episodes = num_episodes
        assert confirmation.confirms() is is_confirmed
        assert len(evaluator.played) == num_played


def test_what_is_lost_early_is_told_and_noted_as_a_part(caplog: pytest.LogCaptureFixture) -> None:
    evaluator = FakeEvaluator(series("sampled", 3, 9))
    with caplog.at_level(logging.INFO, "mario.eval"):
        assert not confirmation_of(evaluator).confirms()
    assert evaluator.noted == [(9, evaluator.moment, "confirmation", False)]
    assert "6 of 100 failed: the others are not played" in caplog.text


def test_every_stage_is_played_equally_often() -> None:
    evaluator = FakeEvaluator(series("sampled", 101, 102), num_stages=3)
    assert confirmation_of(evaluator).confirms()
    assert (evaluator.played[0]["num_episodes"], evaluator.played[0]["max_failures"]) == (34, 1)


@pytest.mark.parametrize(
    ("sticky", "noop_max", "modes"),
    [(0.0, 0, ("sampled",)), (0.25, 0, ("sticky", "sampled")), (0.25, 30, ("sticky", "noop", "sampled"))],
)
def test_what_a_run_trains_for_is_what_it_confirms(sticky: float, noop_max: int, modes: tuple[str, ...]) -> None:
    assert modes_to_confirm(MarioEnvConfig(sticky=sticky, noop_max=noop_max)) == modes


def test_every_mode_must_hold_and_the_first_that_does_not_is_the_last_that_is_played() -> None:
    good, bad = series("sampled", 100, 100), series("sampled", 90, 100)
    for answers, is_confirmed in (((good, good), True), ((bad,), False), ((good, bad), False)):
        evaluator = FakeEvaluator(*answers, sticky=0.25)
        assert confirmation_of(evaluator).confirms() is is_confirmed
        assert [each["modes"] for each in evaluator.played] == [("sticky",), ("sampled",)][: len(answers)]
