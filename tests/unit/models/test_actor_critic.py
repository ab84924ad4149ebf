"""The claims that learning rests on: acting and unrolling agree, and nothing reaches an output that must not."""

import typing

import pytest
import torch
from torch import Tensor

from mario_a3c.errors import ConfigError
from mario_a3c.models.actor_critic import MarioActorCritic, ModelOutput
from mario_a3c.models.config import ModelConfig, RecurrentType
from mario_a3c.models.memories import State, gather_envs

T, N, NUM_ACTIONS = 24, 6, 7
SHAPE = (4, 36, 36)
RECURRENT_TYPES = typing.get_args(RecurrentType)
each_memory = pytest.mark.parametrize("recurrent_type", RECURRENT_TYPES)
each_real_memory = pytest.mark.parametrize("recurrent_type", [name for name in RECURRENT_TYPES if name != "none"])


def make_model(recurrent_type: RecurrentType = "none", **options: typing.Any) -> MarioActorCritic:
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "recurrent_hidden_size": 32, "memory_length": 7, "backbone": "nature"}
    config = ModelConfig(recurrent_type=recurrent_type, **{**sizes, **options})
    model = MarioActorCritic(config, NUM_ACTIONS, SHAPE)
    torch.nn.init.normal_(next(model.actor.parameters()))  # a head that begins near zero would hide differences
    return model


def random_rollout(seed: int, start_probability: float = 0.15) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    observations = torch.randint(0, 256, (T, N, *SHAPE), dtype=torch.uint8, generator=generator)
    return observations, torch.rand(T, N, generator=generator) < start_probability


def lived_in_state(model: MarioActorCritic, seed: int = 5) -> State:
    """The state of environments that have already played a while, with noise where the heads take it."""
    observations, starts = random_rollout(seed)
    state = model.with_noise(model.initial_state(N), torch.randn(N, model.noise_size))
    with torch.no_grad():
        return model.unroll(observations, starts, state).state


def act(model: MarioActorCritic, observations: Tensor, starts: Tensor, state: State) -> ModelOutput:
    outputs = []
    for step_observations, step_starts in zip(observations, starts, strict=True):
        outputs.append(model.step(step_observations, step_starts, state))
        state = outputs[-1].state
    stacked = (torch.stack([getattr(each, name) for each in outputs]) for name in ("logits", "value", "features"))
    logits, value, features = stacked
    return ModelOutput(logits, value, state, features)


@each_memory
@pytest.mark.parametrize("options", [{}, {"noisy_linear": True}, {"parameter_noise": 0.3}, {"backbone": "impala"}])
@pytest.mark.parametrize("start_probability", [0.0, 0.15, 0.6])
def test_acting_step_by_step_equals_one_unroll(
    recurrent_type: RecurrentType, options: dict[str, typing.Any], start_probability: float
) -> None:
    model = make_model(recurrent_type, **options)
    state = lived_in_state(model)
    observations, starts = random_rollout(2, start_probability)
    with torch.no_grad():
        unrolled, acted = model.unroll(observations, starts, state), act(model, observations, starts, state)
    assert unrolled.logits.shape == (T, N, NUM_ACTIONS)
    assert unrolled.value.shape == (T, N)
    torch.testing.assert_close(unrolled.logits, acted.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(unrolled.value, acted.value, atol=1e-5, rtol=1e-5)
    after = random_rollout(3)
    with torch.no_grad():  # the states after it lead on to the same numbers, whatever they hold
        one, other = model.unroll(*after, unrolled.state), model.unroll(*after, acted.state)
    torch.testing.assert_close(one.logits, other.logits, atol=1e-5, rtol=1e-5)


@each_memory
def test_nothing_from_before_an_episode_and_nothing_from_the_future_reaches_an_output(
    recurrent_type: RecurrentType,
) -> None:
    model = make_model(recurrent_type)
    state = lived_in_state(model)
    observations, starts = random_rollout(2, start_probability=0.0)
    start, now = 10, 17
    starts[start] = True
    changed = observations.clone()
    changed[:start] = 255 - changed[:start]
    changed[now + 1 :] = 255 - changed[now + 1 :]
    with torch.no_grad():
        expected = model.unroll(observations, starts, state).logits
        other_past = model.unroll(changed, starts, lived_in_state(model, seed=6)).logits
    torch.testing.assert_close(other_past[start : now + 1], expected[start : now + 1], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(other_past[start - 1], expected[start - 1], atol=1e-3)
    assert not torch.allclose(other_past[now + 1], expected[now + 1], atol=1e-3)


@each_real_memory
def test_a_memory_does_remember(recurrent_type: RecurrentType) -> None:
    model = make_model(recurrent_type)
    observations, starts = random_rollout(2, start_probability=0.0)
    changed = observations.clone()
    changed[3] = 255 - changed[3]
    with torch.no_grad():
        one = model.unroll(observations, starts, model.initial_state(N)).features
        other = model.unroll(changed, starts, model.initial_state(N)).features
    difference = (one - other).abs().amax(dim=(1, 2))
    assert torch.equal(difference[:3], torch.zeros(3))
    assert (difference[3:8] > 1e-6).all(), difference


@each_real_memory
def test_gradients_flow_through_the_unroll_and_stop_where_an_episode_starts(recurrent_type: RecurrentType) -> None:
    model = make_model(recurrent_type, memory_length=T)
    starts = torch.zeros(T, N, dtype=torch.bool)
    starts[9, 0] = True
    features = torch.randn(T, N, 32, requires_grad=True)
    state = {name: tensor.clone() for name, tensor in lived_in_state(model).items()}
    hidden = {name: tensor.requires_grad_() for name, tensor in state.items() if tensor.is_floating_point()}
    output, _ = model.memory.unroll(features, starts, state)
    torch.autograd.backward(output[-1].square().sum())
    assert features.grad is not None
    reached = features.grad.abs().amax(dim=2) > 0  # [T, N]
    assert reached[:, 1:].all()
    assert reached[9:, 0].all()
    assert not reached[:9, 0].any()
    for tensor in hidden.values():
        assert tensor.grad is not None
        assert not tensor.grad[0].any(), "nothing flows back over the start"


@each_memory
def test_environments_are_independent_and_can_be_gathered(recurrent_type: RecurrentType) -> None:
    model = make_model(recurrent_type, noisy_linear=True)
    state = lived_in_state(model)
    observations, starts = random_rollout(2)
    some = torch.tensor([4, 0, 3])
    with torch.no_grad():
        expected = model.unroll(observations, starts, state)
        output = model.unroll(observations[:, some], starts[:, some], gather_envs(state, some))
    torch.testing.assert_close(output.logits, expected.logits[:, some], atol=1e-5, rtol=1e-5)
    for name, tensor in output.state.items():
        torch.testing.assert_close(tensor, expected.state[name][some], atol=1e-5, rtol=1e-5)


@each_memory
def test_forward_takes_steps_and_rollouts(recurrent_type: RecurrentType) -> None:
    model = make_model(recurrent_type)
    observations, starts = random_rollout(2)
    with torch.no_grad():
        assert torch.equal(model(observations[0]).logits, model.step(observations[0], starts[0], _fresh(model)).logits)
        assert torch.equal(model(observations, starts).value, model.unroll(observations, starts, _fresh(model)).value)


def _fresh(model: MarioActorCritic) -> State:
    return model.initial_state(N)


def test_the_output_names_the_hidden_state_and_the_cell() -> None:
    observations, _ = random_rollout(2)
    lstm, gru, none = (make_model(name)(observations[0]) for name in ("lstm", "gru", "none"))
    assert lstm.hidden.shape == lstm.cell.shape == gru.hidden.shape == (N, 32)
    assert gru.cell is None
    assert none.hidden is None


def test_a_backbone_left_open_is_decided_by_the_device() -> None:
    with pytest.raises(ConfigError, match="for_device"):
        MarioActorCritic(ModelConfig(), NUM_ACTIONS, SHAPE)
    assert ModelConfig().for_device("cpu").backbone == "nature"
    assert ModelConfig().for_device("cuda").backbone == "impala"
    assert ModelConfig(backbone="nature").for_device("cuda").backbone == "nature"
