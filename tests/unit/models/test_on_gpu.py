"""The same claims where kernels are others: cuDNN's recurrent layers, compiled backbones, recorded graphs."""

import typing

import pytest
import torch

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ExecutionConfig, ModelConfig, RecurrentType
from mario_a3c.models.execution import Execution, Precision, copy_weights, decide_execution
from mario_a3c.models.memories import unroll_by_steps

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("default"),  # compilers of GPU code warn of what can be had faster
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
T, N, NUM_ACTIONS = 24, 8, 7
each_memory = pytest.mark.parametrize("recurrent_type", typing.get_args(RecurrentType))


def make_model(recurrent_type: RecurrentType, seed: int = 0, backbone: str = "nature") -> MarioActorCritic:
    torch.manual_seed(seed)
    config = ModelConfig(backbone=backbone, recurrent_type=recurrent_type, memory_length=7)  # type: ignore[arg-type]
    model = MarioActorCritic(config, NUM_ACTIONS)
    torch.nn.init.orthogonal_(typing.cast(torch.Tensor, model.actor.weight))  # begins near zero, hiding differences
    return model


def rollout() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(0)
    pictures = torch.randint(0, 256, (T, N, 4, 84, 84), dtype=torch.uint8, device="cuda", generator=generator)
    return pictures, torch.rand(T, N, device="cuda", generator=generator) < 0.15


def way(precision: Precision = "float32", *, compiled: bool = False) -> Execution:
    return Execution("cuda", precision, "default" if compiled else "none", "")


def test_a_gpu_runs_compiled_half_precision_by_default_and_obeys_the_flags() -> None:
    default = decide_execution(ExecutionConfig(), "impala", None)
    assert default.precision in ("bfloat16", "float16")
    plain = decide_execution(ExecutionConfig(amp=False, compile=False), "impala", None)
    assert (plain.precision, plain.compilation) == ("float32", "none")


@each_memory
def test_acting_step_by_step_equals_one_unroll_in_float32(recurrent_type: RecurrentType) -> None:
    model = way().prepare(make_model(recurrent_type))
    pictures, starts = rollout()
    state, logits, values = model.initial_state(N), [], []
    with torch.no_grad():
        unrolled = model.unroll(pictures, starts, model.initial_state(N))
        for step_pictures, step_starts in zip(pictures, starts, strict=True):
            output = model.step(step_pictures, step_starts, state)
            state = output.state
            logits.append(output.logits)
            values.append(output.value)
    torch.testing.assert_close(torch.stack(logits), unrolled.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(torch.stack(values), unrolled.value, atol=1e-5, rtol=1e-5)


@each_memory
def test_gradients_of_an_unroll_are_those_of_its_steps(recurrent_type: RecurrentType) -> None:
    model = way().prepare(make_model(recurrent_type))
    _, starts = rollout()
    gradients = []
    for unroll in (model.memory.unroll, lambda *arguments: unroll_by_steps(model.memory, *arguments)):
        torch.manual_seed(0)
        features = torch.randn(T, N, 512, device="cuda", requires_grad=True)
        output, _ = unroll(features, starts, model.initial_state(N))
        torch.autograd.backward(output.square().sum())
        assert features.grad is not None
        gradients.append(features.grad)
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)


@each_memory
def test_a_recorded_graph_acts_like_the_network_also_after_new_weights(recurrent_type: RecurrentType) -> None:
    execution = way("bfloat16")
    acting = execution.acting_copy(execution.prepare(make_model(recurrent_type)))
    pictures, starts = rollout()
    step = execution.graph(acting.step, pictures[0], starts[0], acting.initial_state(N))
    for seed in (1, 2):
        copy_weights(make_model(recurrent_type, seed).to("cuda"), acting)
        state, graph_state = acting.initial_state(N), acting.initial_state(N)
        for t in range(T):
            with torch.no_grad():
                expected = acting.step(pictures[t], starts[t], state)
            output = step(pictures[t], starts[t], graph_state)
            torch.testing.assert_close(output.logits, expected.logits, atol=1e-3, rtol=1e-3)
            state, graph_state = expected.state, output.state


@pytest.mark.parametrize("backbone", ["nature", "impala"])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("bfloat16", 3e-2), ("float16", 4e-3)])
def test_precisions_agree_within_their_tolerances(
    backbone: str, compiled: bool, precision: Precision, tolerance: float
) -> None:
    """As parts of the spread of the logits, for learning and for acting."""
    pictures, starts = rollout()
    with torch.no_grad():
        expected = way().prepare(make_model("none", backbone=backbone)).unroll(pictures, starts, {}).logits
        execution = way(precision, compiled=compiled)
        learner = execution.prepare(make_model("none", backbone=backbone))
        learned = learner.unroll(pictures, starts, {}).logits
        acted = execution.acting_copy(learner).unroll(pictures, starts, {}).logits
    for logits in (learned, acted):
        assert (logits - expected).abs().max() / expected.std() < tolerance


@pytest.mark.parametrize("saves_compiled", [True, False])
def test_a_network_saved_compiled_loads_uncompiled_and_the_other_way_round(saves_compiled: bool) -> None:
    saved = way(compiled=saves_compiled).prepare(make_model("gru", backbone="impala"))
    loaded = way(compiled=not saves_compiled).prepare(make_model("gru", seed=1, backbone="impala"))
    pictures, starts = rollout()
    with torch.no_grad():
        expected = saved.unroll(pictures, starts, saved.initial_state(N))
        loaded.load_state_dict(saved.state_dict())
        output = loaded.unroll(pictures, starts, loaded.initial_state(N))
    torch.testing.assert_close(output.logits, expected.logits, atol=1e-4, rtol=1e-4)


def test_float16_learns_with_its_loss_scaled() -> None:
    execution = way("float16", compiled=True)
    model, scaler = execution.prepare(make_model("none", backbone="impala")), execution.grad_scaler()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    pictures, starts = rollout()
    losses = []
    for _ in range(30):
        loss = (model.unroll(pictures, starts, {}).value - 1).square().mean()
        optimizer.zero_grad()
        torch.autograd.backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.1 * losses[0]
