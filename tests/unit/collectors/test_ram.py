"""Rollouts that hold the consoles' memory: beside each observation, whoever collects."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from mario_a3c.acting.actor import Actor
from mario_a3c.collectors import slot_writer
from mario_a3c.collectors.clocked_envs import ClockedEnvs
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.overlapped import OverlappedCollector
from mario_a3c.collectors.play import RecordedPlay
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.errors import ConfigError
from mario_a3c.experience.rollout import TENSORS
from mario_a3c.models.execution import Execution
from mario_a3c.native.console import RAM_BYTES
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor, Lottery
from tests.support.tiny_batches import MakeBatch

NUM_ENVS, NUM_STEPS, FRAME_STACK, NUM_ROLLOUTS = 4, 7, 2, 4
CONFIG = CollectorConfig(rollout_steps=NUM_STEPS)


def make_actors(num_actions: int, sizes: list[int], *, seed: int = 0) -> list[Actor]:
    model = CPU.acting_copy(make_network(num_actions, recurrent_type="gru", frame_stack=FRAME_STACK))
    return [Actor(model, CPU, each, seed=seed) for each in torch.arange(sum(sizes)).tensor_split(len(sizes))]


def make_sync(envs: EnvBatch, ram_bytes: int) -> SyncCollector:
    (actor,) = make_actors(envs.num_actions, [envs.num_envs])
    return SyncCollector(CONFIG, envs, actor, frame_stack=FRAME_STACK, ram_bytes=ram_bytes)


def make_overlapped(groups: list[EnvBatch], ram_bytes: int) -> OverlappedCollector:
    actors = make_actors(groups[0].num_actions, [each.num_envs for each in groups])
    return OverlappedCollector(CONFIG, groups, actors, frame_stack=FRAME_STACK, ram_bytes=ram_bytes)


def lottery_groups(num_groups: int) -> list[EnvBatch]:
    size = NUM_ENVS // num_groups
    return [Lottery(size, length=3, seed=group * size) for group in range(num_groups)]


def expect_memory_beside_observations(
    collector: SyncCollector | OverlappedCollector, envs: EnvBatch, memory: Callable[[], npt.NDArray[np.uint8]]
) -> None:
    """The same steps are taken in other environments, whose memory is looked at each time."""
    num_ended, last = 0, None
    for _ in range(NUM_ROLLOUTS):
        rollout = collector.next_rollout()
        if last is not None:
            assert torch.equal(rollout.ram[0], last)
        for t in range(NUM_STEPS):
            np.testing.assert_array_equal(rollout.ram[t].numpy(), memory())
            np.testing.assert_array_equal(rollout.observation(t)[:, -1].numpy(), envs.observations[:, 0])
            envs.step(rollout.actions[t].numpy())
            num_ended += int((envs.terminated | envs.truncated).sum())
        np.testing.assert_array_equal(rollout.ram[NUM_STEPS].numpy(), memory())
        last = rollout.ram[NUM_STEPS].clone()
    assert num_ended > NUM_ENVS
    collector.close()


@pytest.mark.parametrize("num_groups", [0, 1, 2])
def test_a_rollout_holds_the_memory_beside_each_observation(num_groups: int) -> None:
    """Of no groups at all: taking turns."""
    groups = lottery_groups(max(1, num_groups))
    collector: Any = (
        make_overlapped(groups, Lottery.RAM_BYTES) if num_groups else make_sync(groups[0], Lottery.RAM_BYTES)
    )
    envs = Lottery(NUM_ENVS, length=3)
    expect_memory_beside_observations(collector, envs, envs.ram)


@pytest.mark.parametrize("is_overlapped", [False, True])
def test_a_rollout_holds_the_memory_of_real_consoles(make_batch: MakeBatch, is_overlapped: bool) -> None:
    def make(num_envs: int, first_env: int = 0) -> MarioBatch:
        return make_batch(num_envs=num_envs, first_env=first_env, frame_stack=1, noop_max=5, max_episode_steps=9)

    envs = make(NUM_ENVS)
    if is_overlapped:
        groups = [make(NUM_ENVS // 2), make(NUM_ENVS // 2, NUM_ENVS // 2)]
        groups[1].share_threads(groups[0])
        collector: Any = make_overlapped(list(groups), RAM_BYTES)
    else:
        collector = make_sync(ClockedEnvs(make(NUM_ENVS), lambda: None), RAM_BYTES)
    expect_memory_beside_observations(collector, envs, lambda: np.stack([envs.ram(env) for env in range(NUM_ENVS)]))


@pytest.mark.parametrize("is_real", [False, True])
def test_a_restored_collector_begins_with_the_memory_of_where_it_goes_on(make_batch: MakeBatch, is_real: bool) -> None:
    def make() -> SyncCollector:
        if is_real:
            return make_sync(make_batch(num_envs=NUM_ENVS, frame_stack=1, max_episode_steps=9), RAM_BYTES)
        return make_sync(Lottery(NUM_ENVS, length=3), Lottery.RAM_BYTES)

    whole, other = make(), make()
    whole.next_rollout()
    other.restore(whole.state())
    for _ in range(2):
        expected, got = whole.next_rollout(), other.next_rollout()
        assert torch.equal(expected.ram, got.ram)
        assert torch.equal(expected.actions, got.actions)


def test_play_that_can_be_recorded_has_the_same_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, but with calls instead of graphs."""

    def warmed_up(_: Execution, function: Callable[..., Any], *example: Any) -> Callable[..., Any]:
        for _call in range(3):
            function(*example)
        return function

    plain = make_sync(Lottery(NUM_ENVS, length=3), Lottery.RAM_BYTES)
    monkeypatch.setattr(slot_writer, "make_play", RecordedPlay)
    monkeypatch.setattr(Execution, "graph", warmed_up)
    recorded = make_sync(Lottery(NUM_ENVS, length=3), Lottery.RAM_BYTES)
    recorded.warm_up()  # must leave nothing behind
    for _ in range(NUM_ROLLOUTS):
        expected, got = plain.next_rollout(), recorded.next_rollout()
        for name in TENSORS:
            assert torch.equal(getattr(expected, name), getattr(got, name)), name
        assert got.ram.any()


def test_looking_into_consoles_changes_nothing_else_in_a_rollout() -> None:
    blind, looking = (
        make_sync(Lottery(NUM_ENVS, length=3), 0),
        make_sync(Lottery(NUM_ENVS, length=3), Lottery.RAM_BYTES),
    )
    for _ in range(2):
        expected, got = blind.next_rollout(), looking.next_rollout()
        assert expected.ram.shape == (NUM_STEPS + 1, NUM_ENVS, 0)
        for name in set(TENSORS) - {"ram"}:
            assert torch.equal(getattr(expected, name), getattr(got, name)), name


def test_environments_that_cannot_be_looked_into_are_refused() -> None:
    with pytest.raises(ConfigError, match="--vectorization native"):
        make_sync(Corridor(NUM_ENVS, frame_stack=1), Lottery.RAM_BYTES)
    with pytest.raises(ConfigError, match="--vectorization native"):
        make_sync(ClockedEnvs(Corridor(NUM_ENVS, frame_stack=1), lambda: None), Lottery.RAM_BYTES)
    with pytest.raises(ConfigError, match="--vectorization native"):
        make_overlapped([Corridor(NUM_ENVS, frame_stack=1)], Lottery.RAM_BYTES)
