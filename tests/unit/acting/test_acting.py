"""Decisions: drawn from the policy, independent of the batch, remembered, and with the probability of what was done."""

import typing

import numpy as np
import pytest
import torch

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.acting.policy import NOT_SCRIPTED, sample
from mario_a3c.models.execution import Execution
from mario_a3c.random_numbers import make_keys
from tests.support.gpu import on_gpu
from tests.support.small_networks import CPU, make_network

NUM_ENVS = 6


def random_observations(seed: int, num_envs: int = NUM_ENVS) -> torch.Tensor:
    return torch.randint(
        0, 256, (num_envs, 2, 84, 84), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed)
    )


def no_starts(num_envs: int = NUM_ENVS) -> torch.Tensor:
    return torch.zeros(num_envs, dtype=torch.bool)


def test_sampled_actions_follow_the_policy() -> None:
    log_policy = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    num_draws = 1 << 15
    keys = make_keys(11, "act", torch.arange(num_draws))
    actions = sample(log_policy.expand(num_draws, 4), keys, torch.tensor([7]))
    counts, expected = np.bincount(actions.numpy(), minlength=4), num_draws * log_policy.exp().numpy()
    assert ((counts - expected) ** 2 / expected).sum() < 3 + 5 * 6**0.5


def test_a_decision_does_not_depend_on_who_else_is_in_the_batch() -> None:
    model = make_network(5, recurrent_type="gru")
    typing.cast(torch.Tensor, model.actor.weight).data.mul_(100)  # far from uniform, and from ties
    everybody = Actor(model, CPU, torch.arange(NUM_ENVS), seed=3)
    some = Actor(model, CPU, torch.tensor([4, 1]), seed=3)
    for step in range(10):
        observations = random_observations(step)
        ours = everybody.act(observations, no_starts())
        theirs = some.act(observations[[4, 1]], no_starts(2))
        assert ours.actions[[4, 1]].tolist() == theirs.actions.tolist()
        torch.testing.assert_close(ours.log_probs[[4, 1]], theirs.log_probs)


def test_decisions_change_with_seed_and_step() -> None:
    model = make_network(5)
    observations = random_observations(0)
    actor = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0)
    steps = torch.stack([actor.act(observations, no_starts()).actions for _ in range(20)])
    assert len({tuple(row) for row in steps.tolist()}) > 10
    other = Actor(model, CPU, torch.arange(NUM_ENVS), seed=1)
    assert steps.tolist() != [other.act(observations, no_starts()).actions.tolist() for _ in range(20)]


def test_a_stream_begins_anew_wherever_and_whenever_it_is_begun() -> None:
    model = make_network(5)
    observations = random_observations(0)
    fresh = Actor(model, CPU, torch.tensor([77] * NUM_ENVS), seed=3)
    expected = [int(fresh.act(observations, no_starts()).actions[4]) for _ in range(8)]
    used = Actor(model, CPU, torch.arange(NUM_ENVS), seed=3)
    for _ in range(5):
        used.act(observations, no_starts())
    used.begin_streams(torch.tensor([4]), torch.tensor([77]))
    assert [int(used.act(observations, no_starts()).actions[4]) for _ in range(8)] == expected
    assert len(set(expected)) > 1


def test_a_decision_says_what_it_was_drawn_from() -> None:
    model = make_network(5)
    decision = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0).act(random_observations(0), no_starts())
    torch.testing.assert_close(decision.log_policy.exp().sum(-1), torch.ones(NUM_ENVS))
    assert torch.equal(decision.log_policy.gather(-1, decision.actions[:, None])[:, 0], decision.log_probs)


def test_a_greedy_actor_takes_the_most_likely_action_and_is_certain_of_it() -> None:
    model = make_network(5)
    actor = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0, choice="greedy")
    observations = random_observations(0)
    decision = actor.act(observations, no_starts())
    assert decision.actions.tolist() == model(observations).logits.argmax(-1).tolist()
    assert decision.log_probs.tolist() == [0.0] * NUM_ENVS


def test_a_scripted_action_has_the_probability_of_the_script_not_of_the_policy() -> None:
    actor = Actor(make_network(5), CPU, torch.arange(NUM_ENVS), seed=0)
    scripted = torch.full((NUM_ENVS,), NOT_SCRIPTED)
    scripted[2] = 4
    decision = actor.act(random_observations(0), no_starts(), scripted)
    assert decision.actions[2] == 4
    assert decision.log_probs[2] == 0
    assert (decision.log_probs[[0, 1, 3, 4, 5]] < -1).all()  # one of five


@pytest.mark.parametrize("recurrent_type", ["gru", "lstm", "transformer", "gtrxl"])
def test_an_actor_remembers_and_forgets_where_episodes_start(recurrent_type: str) -> None:
    model = make_network(5, recurrent_type=recurrent_type)  # type: ignore[arg-type]
    actor = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0)
    starts = no_starts()
    for step in range(4):
        starts[3] = step == 3
        values = actor.act(random_observations(step), starts).values
    fresh = model(random_observations(3)).value.detach()
    assert abs(float(values[3] - fresh[3])) < 1e-5
    assert (values[[0, 1, 2]] - fresh[[0, 1, 2]]).abs().min() > 1e-5


def test_the_value_of_what_follows_leaves_the_memory_alone() -> None:
    actor = Actor(make_network(5, recurrent_type="gru"), CPU, torch.arange(NUM_ENVS), seed=0)
    actor.act(random_observations(0), no_starts())
    before = actor.memory["hidden"].clone()
    first, second = (actor.value_of(random_observations(1), actor.memory) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(actor.memory["hidden"], before)


@pytest.mark.parametrize("count", [1, NUM_ENVS, 2 * NUM_ENVS + 1])
def test_values_of_any_number_of_observations_are_those_of_each(count: int) -> None:
    model = make_network(5, recurrent_type="gru")
    actor = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0)
    observations = torch.cat([random_observations(seed) for seed in range(3)])[:count]
    memory = {"hidden": torch.randn(count, model.memory.output_size, generator=torch.Generator().manual_seed(0))}
    expected = model.step(observations, torch.zeros(count, dtype=torch.bool), memory).value
    torch.testing.assert_close(actor.value_of(observations, memory), expected.detach())


@pytest.mark.parametrize("options", [{"noisy_linear": True}, {"parameter_noise": 1.0}])
def test_noise_is_drawn_for_a_rollout_and_stays_for_it(options: dict[str, float]) -> None:
    actor = Actor(make_network(5, **options), CPU, torch.arange(NUM_ENVS), seed=0)  # type: ignore[arg-type]
    assert actor.memory["noise"].abs().sum() == 0
    actor.draw_noise()
    first = actor.memory["noise"].clone()
    actor.act(random_observations(0), no_starts())
    assert torch.equal(actor.memory["noise"], first)
    actor.draw_noise()
    assert (actor.memory["noise"] != first).all()
    assert abs(float(actor.memory["noise"].mean())) < 0.2


def test_a_restored_actor_goes_on_as_if_nothing_had_happened() -> None:
    model = make_network(5, recurrent_type="lstm", noisy_linear=True)
    actor = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0)
    actor.draw_noise()
    actor.act(random_observations(0), no_starts())
    other = Actor(model, CPU, torch.arange(NUM_ENVS), seed=0)
    other.restore(actor.state())
    for each in (actor, other):
        each.draw_noise()
    ours, theirs = (each.act(random_observations(1), no_starts()) for each in (actor, other))
    assert torch.equal(ours.actions, theirs.actions)
    assert torch.equal(ours.values, theirs.values)


def test_published_weights_are_copied_and_their_version_kept() -> None:
    acting, learning = make_network(5, seed=0), make_network(5, seed=1)
    actor = Actor(acting, CPU, torch.arange(NUM_ENVS), seed=0)
    actor.load(Weights(7, learning))
    assert actor.weights_version == 7
    observations = random_observations(0)
    assert torch.equal(acting(observations).value, learning(observations).value)
    assert acting is not learning


@on_gpu
@pytest.mark.parametrize("recurrent_type", ["none", "gru", "lstm", "transformer", "gtrxl"])
def test_a_cuda_graph_decides_as_the_cpu_does(recurrent_type: str) -> None:
    cpu = make_network(5, recurrent_type=recurrent_type)  # type: ignore[arg-type]
    cuda = Execution("cuda", "float32", "none", "tests")
    gpu = make_network(5, recurrent_type=recurrent_type, execution=cuda)  # type: ignore[arg-type]
    here = Actor(cpu, CPU, torch.arange(NUM_ENVS), seed=3)
    there = Actor(gpu, cuda, torch.arange(NUM_ENVS), seed=3)
    num_equal = 0
    for step in range(50):
        starts = torch.rand(NUM_ENVS, generator=torch.Generator().manual_seed(step)) < 0.2
        ours = here.act(random_observations(step), starts)
        theirs = there.act(random_observations(step).cuda(), starts.cuda())
        num_equal += int((ours.actions == theirs.actions.cpu()).sum())
        torch.testing.assert_close(ours.values, theirs.values.cpu(), rtol=1e-4, atol=1e-4)
    assert num_equal >= 50 * NUM_ENVS - 1  # a tie within rounding may fall either way
