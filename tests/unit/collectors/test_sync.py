"""Rollouts are what happened: seen by the actor, done by the environments, with every end marked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.collectors import slot_writer
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.play import RecordedPlay
from mario_a3c.collectors.sync import SyncCollector
from mario_a3c.errors import ConfigError
from mario_a3c.experience.rollout import TENSORS
from mario_a3c.models.execution import Execution
from tests.support.gpu import on_gpu
from tests.support.small_networks import CPU, make_network
from tests.support.tasks import Corridor, DelayedReward

NUM_ENVS, NUM_STEPS, FRAME_STACK = 5, 9, 2


def make_collector(
    envs: Any, *, recurrent_type: Any = "gru", seed: int = 0, num_steps: int = NUM_STEPS
) -> SyncCollector:
    model = make_network(envs.num_actions, recurrent_type=recurrent_type, frame_stack=FRAME_STACK)
    actor = Actor(model, CPU, torch.arange(envs.num_envs), seed=seed)
    return SyncCollector(CollectorConfig(rollout_steps=num_steps), envs, actor, frame_stack=FRAME_STACK)


def short_corridor(frame_stack: int = 1) -> Corridor:
    return Corridor(NUM_ENVS, length=2, frame_stack=frame_stack)  # ends by itself, or is cut after 8 steps


def test_a_rollout_is_what_an_environment_that_stacks_itself_would_have_shown() -> None:
    collector, envs = make_collector(short_corridor()), short_corridor(FRAME_STACK)
    observation, starts = envs.observations.copy(), np.ones(NUM_ENVS, np.bool_)
    kinds_of_end = set()
    for _ in range(4):
        rollout = collector.next_rollout()
        observations = rollout.observations().numpy()
        for t in range(NUM_STEPS):
            np.testing.assert_array_equal(observations[t], observation)
            np.testing.assert_array_equal(rollout.episode_starts[t].numpy(), starts)
            envs.step(rollout.actions[t].numpy())
            np.testing.assert_array_equal(rollout.rewards[t].numpy(), envs.rewards)
            np.testing.assert_array_equal(rollout.terminated[t].numpy(), envs.terminated)
            np.testing.assert_array_equal(rollout.truncated[t].numpy(), envs.truncated)
            observation, starts = envs.observations.copy(), envs.terminated | envs.truncated
            kinds_of_end |= {name for name in ("terminated", "truncated") if getattr(envs, name).any()}
        np.testing.assert_array_equal(observations[NUM_STEPS], observation)
        np.testing.assert_array_equal(rollout.episode_starts[NUM_STEPS].numpy(), starts)
    assert kinds_of_end == {"terminated", "truncated"}


class StickyCorridor(Corridor):
    """Says of every third step that it was stuck, of another environment each time."""

    def step(self, actions: Any, observations: Any = None) -> None:
        super().step(actions, observations)
        self.stuck[:] = (np.arange(self.num_envs) + self.episodes["num_steps"]) % 3 == 0


def test_a_rollout_says_which_steps_were_stuck() -> None:
    collector, envs = (
        make_collector(StickyCorridor(NUM_ENVS, length=2, frame_stack=1)),
        StickyCorridor(NUM_ENVS, length=2),
    )
    rollout = collector.next_rollout()
    for t in range(NUM_STEPS):
        envs.step(rollout.actions[t].numpy())
        np.testing.assert_array_equal(rollout.stuck[t].numpy(), envs.stuck)
    assert 0 < rollout.stuck.sum() < rollout.stuck.numel()


def test_the_learner_computes_the_probabilities_and_values_that_acted() -> None:
    collector = make_collector(short_corridor())
    model = collector._writer.actor.model
    for _ in range(3):
        rollout = collector.next_rollout()
        output = model.unroll(rollout.observations(), rollout.episode_starts, dict(rollout.state))
        log_probs = output.logits[:-1].log_softmax(-1).gather(-1, rollout.actions[..., None])[..., 0]
        torch.testing.assert_close(log_probs, rollout.log_probs, rtol=0, atol=1e-6)
        torch.testing.assert_close(output.value[:-1], rollout.values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("recurrent_type", ["none", "gru", "transformer"])
def test_a_truncated_episode_is_worth_what_its_last_observation_promises(recurrent_type: Any) -> None:
    """Against the same steps taken in an environment of longer patience, which goes on where the other is cut."""
    collector = make_collector(short_corridor(), recurrent_type=recurrent_type)
    model = collector._writer.actor.model
    patient = short_corridor(FRAME_STACK)
    patient.max_episode_steps = 1000
    state, starts = model.initial_state(NUM_ENVS), torch.ones(NUM_ENVS, dtype=torch.bool)
    num_cut = 0
    for _ in range(4):
        rollout = collector.next_rollout()
        for t in range(NUM_STEPS):
            with torch.no_grad():
                output = model.step(torch.from_numpy(patient.observations), starts, state)
                patient.step(rollout.actions[t].numpy())
                beyond = model.step(
                    torch.from_numpy(patient.observations), torch.zeros(NUM_ENVS, dtype=torch.bool), output.state
                )
            is_cut = rollout.truncated[t]
            torch.testing.assert_close(rollout.truncation_values[t][is_cut], beyond.value[is_cut], rtol=0, atol=1e-6)
            assert (rollout.truncation_values[t][~is_cut] == 0).all()
            num_cut += int(is_cut.sum())
            patient.reset(mask=is_cut.numpy())
            state, starts = output.state, rollout.terminated[t] | is_cut
    assert num_cut > 3


def test_ended_episodes_come_with_the_rollout() -> None:
    collector = make_collector(DelayedReward(NUM_ENVS, delay=3, frame_stack=1))
    rollout = collector.next_rollout()
    assert len(rollout.episodes) == NUM_ENVS * 2  # of four steps each, in nine
    assert set(rollout.episodes["num_steps"].tolist()) == {4}
    assert set(rollout.episodes["total_reward"].tolist()) <= {-1.0, 1.0}


def test_equal_seeds_give_equal_rollouts_also_across_an_interruption() -> None:
    whole, first = make_collector(short_corridor()), make_collector(short_corridor())
    for _ in range(2):
        whole.next_rollout()
        first.next_rollout()
    second = make_collector(short_corridor())
    second.restore(first.state())
    for _ in range(3):
        expected, got = whole.next_rollout(), second.next_rollout()
        for name in ("frames", "actions", "log_probs", "values", "rewards", "episode_starts", "truncation_values"):
            assert torch.equal(getattr(expected, name), getattr(got, name)), name
        assert torch.equal(expected.state["hidden"], got.state["hidden"])


def test_new_weights_are_taken_up_with_their_version() -> None:
    collector = make_collector(short_corridor())
    assert collector.next_rollout().weights_version == 0
    collector.publish(Weights(3, make_network(3, recurrent_type="gru", frame_stack=FRAME_STACK, seed=9)))
    assert collector.next_rollout().weights_version == 3


def test_environments_that_stack_and_rollouts_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="frame_stack=1"):
        make_collector(short_corridor(frame_stack=4))
    with pytest.raises(ConfigError, match="--rollout-steps"):
        CollectorConfig(rollout_steps=0)


@pytest.mark.parametrize("recurrent_type", ["none", "gru", "transformer"])
@pytest.mark.parametrize("num_steps", [1, NUM_STEPS])
def test_play_that_can_be_recorded_is_the_same_play(
    monkeypatch: pytest.MonkeyPatch, num_steps: int, recurrent_type: Any
) -> None:
    """Everything in place, as a GPU's graphs need it: seen here without a GPU, as calls instead of graphs."""

    def warmed_up(_: Execution, function: Callable[..., Any], *example: Any) -> Callable[..., Any]:
        for _call in range(3):
            function(*example)
        return function

    plain = make_collector(short_corridor(), recurrent_type=recurrent_type, num_steps=num_steps)
    monkeypatch.setattr(slot_writer, "make_play", RecordedPlay)
    monkeypatch.setattr(Execution, "graph", warmed_up)
    recorded = make_collector(short_corridor(), recurrent_type=recurrent_type, num_steps=num_steps)
    recorded.warm_up()  # must leave nothing behind
    for _ in range(4):
        expected, got = plain.next_rollout(), recorded.next_rollout()
        for name in TENSORS:
            assert torch.equal(getattr(expected, name), getattr(got, name)), name
        assert all(torch.equal(each, got.state[name]) for name, each in expected.state.items())
    restored = make_collector(short_corridor(), recurrent_type=recurrent_type, num_steps=num_steps)
    restored.restore(plain.state())
    assert torch.equal(plain.next_rollout().log_probs, restored.next_rollout().log_probs)


@on_gpu
def test_a_gpu_collects_what_a_cpu_collects() -> None:
    cuda = Execution("cuda", "float32", "none", "tests")
    collectors = []
    for execution in (CPU, cuda):
        envs = short_corridor()
        model = make_network(envs.num_actions, recurrent_type="gru", frame_stack=FRAME_STACK, execution=execution)
        actor = Actor(model, execution, torch.arange(NUM_ENVS), seed=0)
        config = CollectorConfig(rollout_steps=NUM_STEPS)
        collectors.append(SyncCollector(config, envs, actor, frame_stack=FRAME_STACK))
    for _ in range(4):
        here, there = (collector.next_rollout() for collector in collectors)
        for name in ("frames", "actions", "rewards", "episode_starts", "terminated", "truncated"):
            assert torch.equal(getattr(here, name), getattr(there, name).cpu()), name
        torch.testing.assert_close(here.truncation_values, there.truncation_values.cpu(), rtol=1e-4, atol=1e-4)
