"""A tour: how long it gets, and that every stage is in it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.tour import FRAMES_PER_SECOND, Plan, Scene, film_tour, plan_tour
from tests.support.counting_console import CountingConsole
from tests.support.episode_results import result_of


def scene(*, is_clear: bool = True, steps: int = 30, num_tries: int = 1) -> Scene:
    result = result_of(is_clear=is_clear, steps=steps)
    frames = np.full(steps, 4, np.uint16)
    object.__setattr__(result, "frames", frames)
    return Scene(result, MarioEnvConfig(), b"", "generalist", num_tries)


def film(scenes: list[Scene], plan: Plan) -> Iterator[Any]:
    return film_tour(scenes, plan, CountingConsole)  # type: ignore[arg-type]


def test_it_runs_at_the_speed_of_the_game_where_there_is_time() -> None:
    plan = plan_tour([scene(steps=150)] * 4, 110.0)  # ten seconds each
    assert (plan.num_tiles, plan.speed) == (1, 1)
    assert plan.seconds == pytest.approx(4 * (10 + 20 / FRAMES_PER_SECOND) + 3)


def test_many_stages_are_shown_four_at_once_and_as_fast_as_they_must() -> None:
    plan = plan_tour([scene(steps=450)] * 32, 110.0)  # thirty seconds each, 16 minutes in all
    assert plan.num_tiles == 4
    assert plan.seconds <= 110
    assert plan_tour([scene(steps=450)] * 32, 1e9).seconds / (plan.speed - 1) > 110  # no faster than that


@pytest.mark.parametrize("num_scenes", [1, 3, 5, 9])
def test_the_film_is_as_long_as_planned_and_shows_every_frame_that_is_due(num_scenes: int) -> None:
    scenes = [scene(steps=5 + 7 * number, is_clear=number % 2 == 0) for number in range(num_scenes)]
    plan = plan_tour(scenes, 12.0)
    pictures = list(film(scenes, plan))
    assert len(pictures) == plan.num_pictures
    assert {picture.shape for picture in pictures} == {(264, 256, 3) if num_scenes <= 4 else (528, 512, 3)}
    if num_scenes == 1:
        shown = [int(picture[230, 5, 0]) for picture in pictures[:-90]]
        assert shown[:3] == [2 * plan.speed, 4 * plan.speed, 6 * plan.speed]
        assert max(shown) == 20


def test_an_outcome_says_how_many_tries_it_took() -> None:
    assert scene(num_tries=3).outcome == "cleared on try 3"
    assert scene(is_clear=False, num_tries=4).outcome == "not cleared in 4 tries"
    assert scene(is_clear=False).outcome == "not cleared in 1 try"


def test_the_last_card_counts_the_cleared() -> None:
    scenes = [scene(), scene(is_clear=False)]
    *_, card = film(scenes, plan_tour(scenes, 60.0))
    colours = {tuple(pixel) for pixel in card.reshape(-1, 3).tolist()}
    assert {(40, 200, 80), (220, 50, 50)} <= colours
    assert (card == (40, 200, 80)).all(-1).sum() > 1000
