"""What is decided for a machine, and that no way of running changes what a network is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import ConfigError, SetupError
from mario_a3c.models import execution
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.models.execution import Execution, choose_device, copy_weights, decide_execution, tensors_of
from mario_a3c.models.measured_modes import MeasuredMode, remember_modes
from mario_a3c.models.torch_probe import ONEDNN_LIMIT, Bfloat16Report

SHAPE = (4, 36, 36)
PLAIN = Execution("cpu", "float32", "none", "")
COMPILED = Execution("cpu", "float32", "default", "")
ON_CPU = ExecutionConfig(device="cpu")


def make_model(seed: int = 0) -> MarioActorCritic:
    torch.manual_seed(seed)
    return MarioActorCritic(ModelConfig(backbone="nature", hidden_size=16, recurrent_type="gru"), 7, SHAPE)


def pictures() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (5, *SHAPE), dtype=torch.uint8, generator=generator)


def modes(*speedups: float) -> list[MeasuredMode]:
    ways = (("float32", False), ("float32", True), ("bfloat16", False), ("bfloat16", True))
    return [MeasuredMode(*way, speedup) for way, speedup in zip(ways, speedups, strict=True)]  # type: ignore[arg-type]


def test_a_cpu_that_nobody_measured_runs_plain_float32(cache: CacheDir) -> None:
    for known in (cache, None):
        decided = decide_execution(ON_CPU, "nature", known)
        assert (decided.device, decided.precision, decided.compilation) == ("cpu", "float32", "none")
        assert "mario bench model" in decided.reason


@pytest.mark.parametrize(
    ("speedups", "flags", "expected"),
    [
        ((1.0, 1.2, 1.5, 2.0), {}, ("bfloat16", "default")),
        ((1.0, 1.2, 1.5, 2.0), {"compile": False}, ("bfloat16", "none")),
        ((1.0, 1.2, 1.5, 2.0), {"amp": False}, ("float32", "default")),
        ((1.0, 1.2, 1.5, 2.0), {"amp": False, "compile": False}, ("float32", "none")),
        ((1.0, 0.8, 0.9, 0.7), {}, ("float32", "none")),
        ((1.0, 1.03, 0.9, 0.7), {}, ("float32", "none")),
    ],
)
def test_a_measured_cpu_runs_the_fastest_way_that_is_allowed(
    cache: CacheDir,
    monkeypatch: pytest.MonkeyPatch,
    speedups: tuple[float, ...],
    flags: dict[str, bool],
    expected: tuple[str, str],
) -> None:
    monkeypatch.setattr(execution, "probe_cpu_bfloat16", lambda *_: Bfloat16Report("works", "as it is"))
    remember_modes(cache, "nature", modes(*speedups))
    decided = decide_execution(ExecutionConfig(device="cpu", **flags), "nature", cache)
    assert (decided.precision, decided.compilation) == expected
    other = decide_execution(ON_CPU, "impala", cache)
    assert (other.precision, other.compilation) == ("float32", "none"), "another backbone is another question"


def test_bfloat16_that_kills_the_process_is_kept_within_its_limit_or_not_used(
    cache: CacheDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_modes(cache, "nature", modes(1.0, 1.0, 2.0, 1.0))
    (name,) = ONEDNN_LIMIT
    monkeypatch.setenv(name, "ALL")
    monkeypatch.setattr(execution, "probe_cpu_bfloat16", lambda *_: Bfloat16Report("limited", "killed by SIGILL"))
    assert decide_execution(ON_CPU, "nature", cache).precision == "bfloat16"
    assert os.environ[name] == ONEDNN_LIMIT[name]
    monkeypatch.setattr(execution, "probe_cpu_bfloat16", lambda *_: Bfloat16Report("broken", "killed by SIGILL"))
    assert decide_execution(ON_CPU, "nature", cache).precision == "float32"


@pytest.mark.parametrize("damage", ["", "{", "[1]", '[{"precision": "float32"}]', "null"])
def test_a_damaged_measurement_counts_as_none(cache: CacheDir, damage: str) -> None:
    remember_modes(cache, "nature", modes(1.0, 2.0, 1.0, 1.0))
    (kept,) = cache.folder("probes").iterdir()
    kept.write_text(damage)
    assert decide_execution(ON_CPU, "nature", cache).compilation == "none"


def test_a_device_that_is_not_there_is_refused_with_the_remedy() -> None:
    with pytest.raises(SetupError, match="--device cpu works everywhere"):
        decide_execution(ExecutionConfig(device="cuda:99"), "nature", None)
    for wrong in ("gpu", "cpu:1", "cuda:x", ""):
        with pytest.raises(ConfigError, match="--device must be"):
            ExecutionConfig(device=wrong)


@pytest.mark.parametrize("way", [PLAIN, COMPILED, Execution("cpu", "bfloat16", "default", "")])
def test_running_changes_neither_names_nor_types_of_weights(way: Execution) -> None:
    plain, prepared = make_model(), way.prepare(make_model(seed=1))
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in plain.state_dict().items()} == {
        name: (tensor.shape, tensor.dtype) for name, tensor in prepared.state_dict().items()
    }
    prepared.load_state_dict(plain.state_dict())
    plain.load_state_dict(prepared.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize(("saver", "loader"), [(COMPILED, PLAIN), (PLAIN, COMPILED)])
def test_a_network_saved_compiled_loads_uncompiled_and_the_other_way_round(
    tmp_path: Path, saver: Execution, loader: Execution
) -> None:
    saved, loaded = saver.prepare(make_model()), loader.prepare(make_model(seed=1))
    with torch.no_grad():
        expected = saved(pictures())
        torch.save(saved.state_dict(), tmp_path / "weights.pt")
        assert not torch.allclose(loaded(pictures()).value, expected.value, atol=1e-3)
        loaded.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
        output = loaded(pictures())
    torch.testing.assert_close(output.logits, expected.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output.value, expected.value, atol=1e-5, rtol=1e-5)


def test_the_acting_copy_follows_the_learner_and_learns_nothing_itself() -> None:
    way = Execution("cpu", "bfloat16", "none", "")
    learner = way.prepare(make_model())
    acting = way.acting_copy(learner)
    assert acting.backbone.fc.weight.dtype == torch.bfloat16
    assert dict(acting.named_parameters())["memory.gru.weight_hh_l0"].dtype == torch.float32
    assert not any(parameter.requires_grad for parameter in acting.parameters())
    addresses = [parameter.data_ptr() for parameter in acting.parameters()]
    copy_weights(make_model(seed=1), acting)
    for ours, theirs in zip(acting.parameters(), make_model(seed=1).parameters(), strict=True):
        assert torch.equal(ours, theirs.to(ours.dtype))
    assert [parameter.data_ptr() for parameter in acting.parameters()] == addresses
    assert torch.equal(learner.backbone.fc.weight, make_model().backbone.fc.weight), "the learner is untouched"


def test_only_float16_needs_its_loss_scaled() -> None:
    assert not PLAIN.grad_scaler().is_enabled()
    assert not Execution("cpu", "bfloat16", "none", "").grad_scaler().is_enabled()
    assert Execution("cpu", "float16", "none", "").grad_scaler().is_enabled()


# What half precision may do to outputs of order one: 8 and 11 bits of precision, through five layers.
PRECISION_PROGRAM = """
import torch
from tests.unit.models.test_execution import Execution, make_model, pictures
outputs = {}
for precision in ("float32", "bfloat16", "float16"):
    way = Execution("cpu", precision, "none", "")
    learner = way.prepare(make_model())
    torch.nn.init.orthogonal_(learner.actor.weight)
    with torch.no_grad():
        outputs[precision] = learner(pictures()).logits
        acted = way.acting_copy(learner)(pictures()).logits
    assert torch.allclose(acted, outputs[precision], atol=1e-3), (precision, acted - outputs[precision])
    loss = learner(pictures()).value.square().sum()
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in learner.backbone.parameters())
spread = outputs["float32"].std()
for precision, tolerance in (("bfloat16", 2e-2), ("float16", 3e-3)):
    difference = (outputs[precision] - outputs["float32"]).abs().max() / spread
    assert 0 < difference < tolerance, (precision, difference)
"""


@pytest.mark.slow
def test_precisions_agree_within_their_tolerances(repository: Path) -> None:
    """In a child, with the limit that keeps bfloat16 from killing it on machines that announce too much."""
    environment = {**os.environ, **ONEDNN_LIMIT, "PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, "-c", PRECISION_PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_tensors_of_a_state_come_in_the_order_of_their_names() -> None:
    first, second = torch.zeros(1), torch.ones(2)
    made, returned = {"hidden": first, "cell": second}, {"cell": second, "hidden": first}
    for tree in ((made, first), (returned, first)):
        assert [len(tensor) for tensor in tensors_of(tree)] == [2, 1, 1]


def test_best_takes_what_there_is_and_auto_refuses_where_there_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("MARIO_ALLOW_CPU_AUTO", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("best").type == "cpu"
    with pytest.raises(SetupError, match="MARIO_ALLOW_CPU_AUTO=1"):
        choose_device("auto")
    monkeypatch.setenv("MARIO_ALLOW_CPU_AUTO", "1")
    assert choose_device("auto").type == "cpu"
    assert "no CUDA device" in caplog.text
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("best").type == choose_device("auto").type == "cuda"
