"""Collecting beside learning gives the rollouts that taking turns gives, always one update behind, and no race."""

import threading
import time
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.collectors import overlapped
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.overlapped import OverlappedCollector
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.errors import SetupError
from mario_a3c.experience.rollout import TENSORS, Rollout
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor

NUM_ENVS, NUM_STEPS, FRAME_STACK = 6, 9, 2
WRITTEN_BY_LEARNERS = ("advantages", "target_values")


def make_overlapped(*, num_groups: int = 2, seed: int = 0) -> OverlappedCollector:
    size = NUM_ENVS // num_groups
    groups = [Corridor(size, length=2, frame_stack=1, seed=group * size) for group in range(num_groups)]
    acting = CPU.acting_copy(make_network(3, recurrent_type="gru", frame_stack=FRAME_STACK))
    actors = [Actor(acting, CPU, each, seed=seed) for each in torch.arange(NUM_ENVS).tensor_split(num_groups)]
    return OverlappedCollector(CollectorConfig(rollout_steps=NUM_STEPS), groups, actors, frame_stack=FRAME_STACK)


def make_sync() -> SyncCollector:
    envs = Corridor(NUM_ENVS, length=2, frame_stack=1)
    actor = Actor(make_network(3, recurrent_type="gru", frame_stack=FRAME_STACK), CPU, torch.arange(NUM_ENVS), seed=0)
    return SyncCollector(CollectorConfig(rollout_steps=NUM_STEPS), envs, actor, frame_stack=FRAME_STACK)


def expect_equal(expected: Rollout, got: Rollout) -> None:
    for name in TENSORS:
        if name not in WRITTEN_BY_LEARNERS:
            torch.testing.assert_close(getattr(got, name), getattr(expected, name), rtol=0, atol=1e-6, msg=name)
    torch.testing.assert_close(got.state["hidden"], expected.state["hidden"], rtol=0, atol=1e-6)
    assert sorted(got.episodes["total_reward"]) == sorted(expected.episodes["total_reward"])


@pytest.mark.parametrize("num_groups", [1, 2, 3])
def test_with_frozen_weights_it_collects_what_taking_turns_collects(num_groups: int) -> None:
    sync, collector = make_sync(), make_overlapped(num_groups=num_groups)
    for _ in range(5):
        expect_equal(sync.next_rollout(), collector.next_rollout())
    collector.close()


def test_every_rollout_but_the_first_is_exactly_one_update_old() -> None:
    collector = make_overlapped()
    lags = []
    for update in range(6):
        lags.append(update - collector.next_rollout().weights_version)
        collector.publish(Weights(update + 1, make_network(3, recurrent_type="gru", frame_stack=FRAME_STACK)))
    collector.close()
    assert lags == [0, 1, 1, 1, 1, 1]


def test_a_learner_that_writes_while_others_act_changes_nothing_for_them() -> None:
    """The weights that learn are scrambled all the time; acting must not notice before they are published."""
    learning = make_network(3, recurrent_type="gru", frame_stack=FRAME_STACK)
    quiet, disturbed = make_overlapped(), make_overlapped()
    for collector in (quiet, disturbed):
        collector.publish(Weights(0, learning))
        collector.next_rollout()  # from now on the second rollout is being collected
    with torch.no_grad():
        for parameter in learning.parameters():
            parameter.fill_(1e3)
    expect_equal(quiet.next_rollout(), disturbed.next_rollout())
    shared = {each.data_ptr() for each in learning.parameters()}
    for writer in disturbed._writers:
        assert shared.isdisjoint(each.data_ptr() for each in writer.actor.model.parameters())
    for collector in (quiet, disturbed):
        collector.close()


def test_the_slot_of_the_learner_is_left_alone_until_it_asks_for_the_next() -> None:
    collector = make_overlapped()
    rollout = collector.next_rollout()
    actions, frames = rollout.actions.clone(), rollout.frames.clone()
    collector._wait()  # the next rollout is complete
    assert torch.equal(rollout.actions, actions)
    assert torch.equal(rollout.frames, frames)
    collector.close()


def test_what_fails_in_a_thread_is_raised_with_its_own_traceback() -> None:
    collector = make_overlapped()
    collector.next_rollout()
    collector._wait()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("in the second group")

    collector.clocks[1].envs.step = fail  # type: ignore[method-assign, assignment]
    collector.next_rollout()  # was begun before
    with pytest.raises(ZeroDivisionError, match="in the second group") as caught:
        collector.next_rollout()
    assert "fail" in [entry.name for entry in caught.traceback]
    collector.close()


def test_a_stuck_thread_ends_the_run_and_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapped, "STUCK_SECONDS", 0.3)
    collector = make_overlapped()
    collector.next_rollout()
    goes_on = threading.Event()

    def hang(*_: Any) -> None:
        goes_on.wait(30)

    collector.clocks[1].envs.step = hang  # type: ignore[method-assign, assignment]
    collector.next_rollout()
    with pytest.raises(SetupError, match=r"mario-collect-1:[\s\S]*in hang"):
        collector.next_rollout()
    goes_on.set()
    collector.close()


def test_closing_does_not_wait_for_the_rollout_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    collector = make_overlapped()
    collector.next_rollout()
    real = collector.clocks[0].envs.step

    def slow(*arguments: Any) -> None:
        time.sleep(0.2)
        real(*arguments)

    collector._wait()
    collector.clocks[0].envs.step = slow  # type: ignore[method-assign, assignment]
    collector.next_rollout()
    started = time.monotonic()
    collector.close()
    assert time.monotonic() - started < 0.2 * NUM_STEPS / 2
    assert set(threading.enumerate()) <= before


def test_a_restored_collector_goes_on_where_the_other_stood() -> None:
    first = make_overlapped()
    first.next_rollout()
    state = first.state()  # after the second rollout, which is being collected
    second = make_overlapped(seed=0)
    second.next_rollout()
    second.restore(state)
    first.next_rollout()
    expect_equal(first.next_rollout(), second.next_rollout())
    for collector in (first, second):
        collector.close()


def test_ended_episodes_of_all_groups_come_with_the_rollout() -> None:
    collector = make_overlapped()
    rollout = collector.next_rollout()
    ended = (rollout.terminated | rollout.truncated).sum()
    assert len(rollout.episodes) == int(ended) > 0
    assert np.isfinite(rollout.episodes["total_reward"]).all()
    collector.close()
