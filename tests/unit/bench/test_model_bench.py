import json
from pathlib import Path

import pytest

from mario_a3c.bench import model as bench
from mario_a3c.bench.model import Load, ModelSpeed, _compare, _costs
from mario_a3c.cli.main import main
from mario_a3c.models.config import ExecutionConfig
from mario_a3c.models.execution import Execution


def row(
    work: str, precision: str, compilation: str, speed: float, memory: str = "none", variant: str = ""
) -> ModelSpeed:
    return ModelSpeed("nature", memory, work, "16", precision, compilation, False, variant, speed)  # type: ignore[arg-type]


def test_a_way_counts_as_fast_as_it_is_where_it_gains_least() -> None:
    modes = _compare(
        [
            row("act", "float32", "none", 100),
            row("act", "float32", "default", 400),
            row("act", "bfloat16", "none", 150),
            row("train", "float32", "none", 50),
            row("train", "float32", "default", 40),
            row("train", "bfloat16", "none", 100),
        ]
    )
    assert [(mode.precision, mode.is_compiled, mode.speedup) for mode in modes] == [
        ("float32", False, 1.0),
        ("float32", True, 0.8),
        ("bfloat16", False, 1.5),
    ]


def test_a_memory_costs_its_time_over_that_without_one() -> None:
    rows = [row("train", "float32", "none", 90), row("train", "float32", "none", 60, memory="gru", variant="by steps")]
    assert _costs(rows) == {"train none": 1.0, "train gru by steps": 1.5}


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_the_command_measures_everything_and_keeps_what_is_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = Load(num_acting=2, rollout=(2, 2), seconds=0.0)
    monkeypatch.setattr(bench, "_LOADS", dict.fromkeys(bench._LOADS, tiny))
    monkeypatch.setattr(bench, "_ways_on_cpu", lambda *_: [Execution("cpu", "float32", "none", "measured")])
    cache, result = tmp_path / "cache", tmp_path / "model.json"
    flags = ["--rounds", "1", "--device", "cpu", "--cache-dir", str(cache), "--json", str(result)]
    assert main(["bench", "model", *flags]) == 0
    measured = json.loads(result.read_text())
    assert {(row["backbone"], row["memory"], row["work"]) for row in measured["speeds"]} == {
        *((backbone, "none", work) for backbone in bench._BACKBONES for work in ("act", "train")),
        *(("nature", memory, work) for memory in bench._MEMORIES for work in ("act", "train")),
    }
    assert all(row["steps_per_second"] > 0 for row in measured["speeds"])
    assert measured["memory_costs"]["train none"] == 1.0
    assert len(list((cache / "probes").iterdir())) == len(bench._BACKBONES), "one for each"
    assert "nature runs here by default in float32" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "autotune", "expected"),
    [
        ({}, False, ["float32 none", "bfloat16 none", "float16 none", "bfloat16 default"]),
        ({"amp": False}, True, ["float32 none", "float32 default", "float32 max-autotune-no-cudagraphs"]),
        ({"amp": False, "compile": False}, True, ["float32 none"]),
    ],
)
def test_flags_narrow_what_is_tried_on_a_gpu(flags: dict[str, bool], autotune: bool, expected: list[str]) -> None:
    ways = bench._ways_on_gpu("cuda", ExecutionConfig(**flags), autotune)  # type: ignore[arg-type]
    assert [f"{way.precision} {way.compilation}" for way in ways] == expected
