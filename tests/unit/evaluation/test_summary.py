"""Rates, how sure they are, and when a stage counts as cleared."""

import math
from dataclasses import replace

import pytest

from mario_a3c.errors import ConfigError
from mario_a3c.evaluation.config import MODES, EvaluationConfig
from mario_a3c.evaluation.episodes import list_episodes
from mario_a3c.evaluation.summary import cleared_stages, summarize, wilson_interval
from mario_a3c.native.start_states import Stage
from tests.support.episode_results import result_of, series


def test_without_any_clear_the_interval_ends_where_the_rule_says() -> None:
    z = 1.959963984540054
    for trials in (1, 10, 100):
        low, high = wilson_interval(0, trials)
        assert (low, high) == pytest.approx((0.0, z * z / (trials + z * z)))
        assert wilson_interval(trials, trials) == pytest.approx((1 - high, 1.0))


def test_a_wilson_interval_solves_the_equation_that_defines_it() -> None:
    z = 1.959963984540054
    for successes, trials in ((3, 17), (50, 100), (99, 100)):
        for bound in wilson_interval(successes, trials):
            deviation = abs(successes / trials - bound) / math.sqrt(bound * (1 - bound) / trials)
            assert deviation == pytest.approx(z)
    with pytest.raises(ValueError, match="not possible"):
        wilson_interval(3, 2)
    with pytest.raises(ValueError, match="not possible"):
        wilson_interval(0, 0)


def test_a_summary_counts_what_happened() -> None:
    results = [result_of(number=0, steps=10), replace(result_of(number=1, is_clear=False, steps=30), total_reward=4.0)]
    (summary,) = summarize(results)
    assert (summary.stage, summary.mode, summary.num_episodes, summary.num_clears) == ("1-1", "sampled", 2, 1)
    assert (summary.clear_rate, summary.mean_return, summary.median_steps) == (0.5, 3.0, 20)
    assert summary.end_reasons == {"flag": 1, "death": 1}


def test_greedy_play_is_one_trajectory_and_has_no_interval() -> None:
    (summary,) = summarize(series("greedy", 100, 100))
    assert (summary.clear_rate_low, summary.clear_rate, summary.clear_rate_high) == (1.0, 1.0, 1.0)


def test_a_stage_is_cleared_when_the_three_noisy_modes_reach_95_of_100() -> None:
    def verdict(greedy: int, sampled: int, noop: int, sticky: int, episodes: int = 100) -> bool | None:
        counts = zip(MODES, (greedy, sampled, noop, sticky), strict=True)
        results = [result for mode, clears in counts for result in series(mode, clears, episodes)]
        return cleared_stages(summarize(results))["1-1"]

    assert verdict(0, 95, 95, 95) is True
    assert verdict(100, 100, 94, 100) is False
    assert verdict(20, 20, 20, 20, episodes=20) is None
    assert cleared_stages(summarize(series("sampled", 100, 100))) == {"1-1": None}
    assert cleared_stages(summarize(series("sampled", 50, 100))) == {"1-1": False}


def test_every_episode_has_a_stream_of_its_own() -> None:
    stages = [Stage(world, number) for world in range(1, 9) for number in range(1, 5)]
    specs = list_episodes(stages, MODES, 100)
    assert len({spec.stream for spec in specs}) == len(specs) == 32 * 4 * 100


def test_options_that_make_no_sense_are_refused() -> None:
    for wrong, flag in (
        ({"episodes": 0}, "--episodes"),
        ({"seed": -1}, "--seed"),
        ({"num_threads": -1}, "--num-threads"),
    ):
        with pytest.raises(ConfigError, match=flag):
            EvaluationConfig(**wrong)  # type: ignore[arg-type]
    assert EvaluationConfig(mode="all").modes == MODES
    assert EvaluationConfig(mode="noop").modes == ("noop",)
