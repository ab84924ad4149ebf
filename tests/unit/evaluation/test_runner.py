"""The same episodes, however they are played; and the agent is played as it acts: with its memory, with its chance."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.evaluation.arena import Arena
from mario_a3c.evaluation.config import MODES, Mode
from mario_a3c.evaluation.episodes import EpisodeResult, EpisodeSpec, list_episodes
from mario_a3c.evaluation.players import ConstantPlayer, NetworkPlayer, Player, RandomPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.native.start_states import Stage
from tests.support.arenas import TaskArena, corridor_arena
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor, DelayedReward

RIGHT = 1


def network_player(recurrent_type: Any = "gru", num_actions: int = 3) -> NetworkPlayer:
    model = make_network(num_actions, recurrent_type=recurrent_type)
    with torch.no_grad():
        model.actor.weight.mul_(30)  # type: ignore[operator]  # decided, so that what is seen matters
    return NetworkPlayer(model, torch.device("cpu"))


def play(player: Player, specs: Sequence[EpisodeSpec], make_arena: Callable[[Mode, int], Arena] = corridor_arena,
         **options: Any) -> list[EpisodeResult]:  # fmt: skip
    return play_episodes(player, make_arena, specs, **{"seed": 0, **options})


def story_of(result: EpisodeResult) -> tuple[Any, ...]:
    return result.spec, result.as_row(), result.actions.tobytes(), result.env_seed


def test_results_depend_on_neither_threads_nor_groups_nor_company() -> None:
    player, specs = network_player(), list_episodes([Stage(1, 1), Stage(1, 2)], MODES, 20)
    one = play(player, specs, num_threads=1)
    for num_threads in (2, 7):
        many = play(player, specs, num_threads=num_threads)
        assert [story_of(each) for each in many] == [story_of(each) for each in one]
    some = [spec for spec in specs if spec.number in (3, 17, 19) and spec.mode == "sampled"]
    alone = {spec: play(player, [spec])[0] for spec in some}
    for result in one:
        if result.spec in alone:
            assert story_of(alone[result.spec]) == story_of(result)
    assert len({each.actions.tobytes() for each in one}) > 25  # they are not all alike


def test_another_seed_gives_other_episodes() -> None:
    player, specs = network_player(), list_episodes([Stage(1, 1)], ["sampled"], 20)
    first, second = play(player, specs, seed=0), play(player, specs, seed=1)
    assert [each.actions.tobytes() for each in first] != [each.actions.tobytes() for each in second]


def test_greedy_play_is_played_once_and_told_for_all() -> None:
    played = 0

    def counting(mode: Mode, num_lanes: int) -> Arena:
        arena = TaskArena(Corridor(num_lanes, frame_stack=2))
        begin = arena.begin

        def count(lanes: Any, seeds: Any, stages: Any) -> None:
            nonlocal played
            played += len(lanes)
            begin(lanes, seeds, stages)

        arena.begin = count  # type: ignore[method-assign]
        return arena

    results = play(network_player(), list_episodes([Stage(1, 1)], ["greedy"], 50), counting)
    assert played == 1
    assert [each.spec.number for each in results] == list(range(50))
    assert len({each.actions.tobytes() for each in results}) == 1


@pytest.mark.parametrize("recurrent_type", ["gru", "lstm", "transformer", "gtrxl"])
def test_the_memory_lasts_for_an_episode_and_no_longer(recurrent_type: str) -> None:
    """A cue is shown once: what is done later depends on it only through the memory, and not on the episode before."""

    def arena(_: Mode, num_lanes: int) -> TaskArena:
        return TaskArena(DelayedReward(num_lanes, delay=6, recall=True, frame_stack=2))

    player = network_player(recurrent_type)
    specs = list_episodes([Stage(1, 1)], ["sampled"], 64)  # four in a row in every lane
    in_a_row = play(player, specs, arena, num_threads=1, with_traces=True)
    alone = [play(player, [spec], arena, with_traces=True)[0] for spec in specs[48:52]]
    last_probabilities = {each.trace.probabilities[-1].tobytes() for each in in_a_row if each.trace}
    for one, other in zip(in_a_row[48:52], alone, strict=True):
        assert one.trace is not None
        assert other.trace is not None
        np.testing.assert_array_equal(one.trace.values, other.trace.values)
        np.testing.assert_array_equal(one.trace.probabilities, other.trace.probabilities)
    assert len(last_probabilities) > 1  # the picture is the same for all by then


def test_what_is_played_is_the_policy() -> None:
    """The share of each action over many first steps is its probability."""
    player = network_player("none")
    results = play(player, list_episodes([Stage(1, 1)], ["sampled"], 400), with_traces=True)
    first = results[0].trace
    assert first is not None
    counts = np.bincount([int(each.actions[0]) for each in results], minlength=3)
    expected = 400 * first.probabilities[0]
    assert ((counts - expected) ** 2 / expected).sum() < 14  # chi-square, 2 degrees: one in a thousand


def test_simple_players_do_what_they_say() -> None:
    specs = list_episodes([Stage(1, 1)], ["sampled"], 30)
    right = play(ConstantPlayer(RIGHT), specs)
    assert all(each.is_clear and each.num_steps == 8 and set(each.actions.tolist()) == {RIGHT} for each in right)
    assert right[0].total_reward == pytest.approx(Corridor(1).best_return)
    assert right[0].frames.tolist() == [4] * 8
    random = play(RandomPlayer(3), specs)
    counts = np.bincount(np.concatenate([each.actions for each in random]), minlength=3)
    assert counts.min() / counts.sum() > 0.28
    assert not all(each.is_clear for each in random)
    assert [story_of(each) for each in play(RandomPlayer(3), specs, num_threads=1)] == [
        story_of(each) for each in random
    ]


def test_episodes_are_told_when_they_end_and_a_stop_leaves_the_rest_out() -> None:
    told: list[EpisodeResult] = []
    specs = list_episodes([Stage(1, 1)], ["sampled"], 100)
    results = play(RandomPlayer(3), specs, on_episode=told.append, should_stop=lambda: len(told) >= 10, num_threads=1)
    assert {each.spec for each in told} == {each.spec for each in results}
    assert 10 <= len(results) < 100


def test_what_fails_in_a_thread_is_raised_and_computing_threads_are_put_back() -> None:
    def broken(_: Mode, num_lanes: int) -> Arena:
        raise OSError("no arena")

    torch.set_num_threads(2)
    with pytest.raises(OSError, match="no arena"):
        play(RandomPlayer(3), list_episodes([Stage(1, 1)], MODES, 4), broken)
    assert torch.get_num_threads() == 2
