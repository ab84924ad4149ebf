"""Failures of an agent of the home-made game, which throws itself away now and then."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.evaluation.config import STICKY_PROBABILITY
from mario_a3c.evaluation.failures import Choices, ChoiceTrier, Failure, FailureFinder
from mario_a3c.models.actor_critic import ModelOutput
from mario_a3c.models.memories import State
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage
from tests.support.tiny_batches import ACTIONS, DIE, RIGHT

ENV = MarioEnvConfig(action_set="custom", actions=ACTIONS, frame_stack=2)
STAGE = Stage(1, 1)


class Careless:
    """Runs to the right, and loses its life in one step of so many. Counts its steps, as a memory does."""

    num_actions = len(ACTIONS)

    def __init__(self, carelessness: float) -> None:
        policy = torch.full((self.num_actions,), 1e-9)
        policy[DIE], policy[RIGHT] = carelessness, 1 - carelessness
        self._logits = policy.log()

    def initial_state(self, num_envs: int) -> State:
        return {"steps": torch.zeros(num_envs, 1)}

    def step(self, observations: Tensor, episode_starts: Tensor, state: State) -> ModelOutput:
        steps = torch.where(episode_starts[:, None], 0.0, state["steps"]) + 1
        num_envs = len(observations)
        return ModelOutput(self._logits.expand(num_envs, -1), torch.zeros(num_envs), {"steps": steps}, steps)


def make_batch(rom: Path, cache: CacheDir, env: MarioEnvConfig, num_envs: int) -> MarioBatch:
    return MarioBatch(
        MarioVectorEnvConfig(num_envs=num_envs, num_threads=1, env=env),
        rom=RomConfig(rom=rom, allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        cache=cache,
        autoreset=False,
    )


@pytest.fixture
def making(tiny_game: Path, tiny_cache: CacheDir) -> Any:
    return partial(make_batch, tiny_game, tiny_cache)


def find(making: Any, carelessness: float, num_failures: int = 5, most_episodes: int = 400) -> list[Failure]:
    finder = FailureFinder(Careless(carelessness), ENV, making, num_moments=4, seed=3, num_lanes=8)  # type: ignore[arg-type]
    return finder.find(STAGE, num_failures, most_episodes)


def test_a_failure_can_be_played_again_from_each_of_its_moments(making: Any) -> None:
    failures = find(making, 0.05)
    assert len(failures) == 5
    assert {each.end_reason for each in failures} == {EndReason.DEATH}
    batch = making(ENV, 1)
    for failure in failures:
        assert len(failure.moments) == 4
        for number, moment in enumerate(failure.moments):
            batch.set_state(0, moment.environment)
            ends = []
            for each in failure.moments[number:]:
                batch.step(np.array([each.held]))
                ends.append(bool(batch.terminated[0]))
            assert ends == [False] * (len(ends) - 1) + [True]
            assert batch.final_games["x"][0] == failure.x
        steps = [float(moment.memory["steps"]) for moment in failure.moments]
        assert steps == [steps[0] + n for n in range(4)], "what was remembered then"
        assert [moment.last_action for moment in failure.moments[1:]] == [each.held for each in failure.moments[:-1]]


def test_the_action_that_kills_is_found(making: Any) -> None:
    failures = [each for each in find(making, 0.05) if each.moments[-1].last_action == RIGHT]
    trier = ChoiceTrier(Careless(0.05), ENV, making, num_tries=120, seed=3)  # type: ignore[arg-type]
    choices = trier.try_at(failures[0], 1)
    assert choices.policy[DIE] == pytest.approx(0.05)
    assert choices.last_action == RIGHT
    goes_on = 1 - 0.95**8  # the eight steps after it; where one of them sticks the next is as careless
    survives = (1 - STICKY_PROBABILITY) + STICKY_PROBABILITY * goes_on
    assert choices.failing[DIE] == pytest.approx(survives, abs=0.1)
    assert choices.failing[RIGHT] == pytest.approx(goes_on, abs=0.1)
    assert choices.best_action != DIE
    assert choices.as_played == pytest.approx(0.05 * choices.failing[DIE] + 0.95 * choices.failing[RIGHT])
    assert choices.picture.shape == (240, 256, 3)
    row = choices.as_row(ACTIONS)
    assert row["held"] == "right"
    assert row["failing"]["down"] == pytest.approx(choices.failing[DIE], abs=1e-4)


def test_what_the_best_action_saves_is_not_flattered() -> None:
    """All eight actions fail in half of the tries: the luckiest looks better, and is not."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        tries = rng.random((8, 16)) < 0.5
        found.append(Choices(1, None, np.full(8, 1 / 8), tries, np.zeros((240, 256, 3), np.uint8)))
    assert np.mean([each.failing.min() for each in found]) < 0.36
    assert np.mean([each.at_best for each in found]) == pytest.approx(0.5, abs=0.03)


def test_who_fails_at_once_is_not_found_more_often(making: Any) -> None:
    """Of 48 episodes at a time the first sixteen to end live for five steps, sixteen in a row for twenty."""
    finder = FailureFinder(Careless(0.05), ENV, making, num_moments=2, seed=1, num_lanes=48)  # type: ignore[arg-type]
    failures = finder.find(STAGE, 16, 400)
    lengths = [float(each.moments[-1].memory["steps"]) + 1 for each in failures]
    assert len(lengths) == 16
    assert np.mean(lengths) > 12
    assert finder.num_failed >= 16


def test_equal_seeds_find_the_same(making: Any) -> None:
    one, other = find(making, 0.05), find(making, 0.05)
    assert [each.x for each in one] == [each.x for each in other]
