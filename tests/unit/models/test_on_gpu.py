"""The same claims where kernels are others: cuDNN's recurrent layers, compiled backbones, recorded graphs."""

import typing
from collections.abc import Callable

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
Measured = Callable[[str, float, float], None]
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


def difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Absolute where numbers are small, relative where they are large."""
    return float(((found - expected).abs() / (1 + expected.abs())).max())


@each_memory
def test_acting_step_by_step_equals_one_unroll_in_float32(recurrent_type: RecurrentType, measured: Measured) -> None:
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
    measured(
        f"steps and unroll, float32, {recurrent_type}: logits", difference(torch.stack(logits), unrolled.logits), 1e-5
    )
    measured(
        f"steps and unroll, float32, {recurrent_type}: values", difference(torch.stack(values), unrolled.value), 1e-5
    )


@each_memory
def test_gradients_of_an_unroll_are_those_of_its_steps(recurrent_type: RecurrentType, measured: Measured) -> None:
    """Of its weights too, as parts of the largest gradient."""
    model = way().prepare(make_model(recurrent_type))
    weights = [each for name, each in model.named_parameters() if name.startswith("memory.")]
    _, starts = rollout()
    gradients = []
    for unroll in (model.memory.unroll, lambda *arguments: unroll_by_steps(model.memory, *arguments)):
        torch.manual_seed(0)
        features = torch.randn(T, N, 512, device="cuda", requires_grad=True)
        output, _ = unroll(features, starts, model.initial_state(N))
        loss = (output * torch.randn(output.shape, device="cuda")).sum()
        found = torch.autograd.grad(loss, [features, *weights])
        gradients.append(torch.cat([each.flatten() for each in found]))
    unrolled, stepped = gradients
    largest = float((unrolled - stepped).abs().max() / stepped.abs().max())
    measured(f"steps and unroll, float32, {recurrent_type}: gradients", largest, 1e-4)


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
@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 3e-2), ("float16", 4e-3)])
def test_precisions_agree_within_their_tolerances(
    backbone: str, precision: Precision, tolerance: float, measured: Measured
) -> None:
    """As parts of the spread of the logits, for learning and for acting."""
    pictures, starts = rollout()
    with torch.no_grad():
        expected = way().prepare(make_model("none", backbone=backbone)).unroll(pictures, starts, {}).logits
        learner = way(precision).prepare(make_model("none", backbone=backbone))
        learned = learner.unroll(pictures, starts, {}).logits
        acted = way(precision).acting_copy(learner).unroll(pictures, starts, {}).logits
    for name, logits in {"learning": learned, "acting": acted}.items():
        spread = float((logits - expected).abs().max() / expected.std())
        measured(f"{precision} beside float32, {backbone}, {name}: logits", spread, tolerance)


def test_a_compiled_network_takes_and_gives_the_weights_of_one_that_is_not(measured: Measured) -> None:
    """And computes what it computes. The one compilation here: each takes half a minute of a GPU."""
    compiled = way("bfloat16", compiled=True).prepare(make_model("gru", backbone="impala"))
    eager = way("bfloat16").prepare(make_model("gru", seed=1, backbone="impala"))
    pictures, starts = rollout()

    def compare(how: str) -> None:
        with torch.no_grad():
            one, other = (each.unroll(pictures, starts, each.initial_state(N)).logits for each in (compiled, eager))
        measured(
            f"compiled beside eager, bfloat16, {how}: logits", float((one - other).abs().max() / other.std()), 3e-2
        )

    eager.load_state_dict(compiled.state_dict())
    compare("saved compiled")
    eager.load_state_dict(make_model("gru", seed=2, backbone="impala").state_dict())
    compiled.load_state_dict(eager.state_dict())
    compare("loaded compiled")


def test_float16_learns_with_its_loss_scaled() -> None:
    execution = way("float16")
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
