"""Variants of `mario train`: their commands, and what is made of the files that they leave."""

import functools
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mario_a3c.bench.game_ablation import GameAblation, last_words
from mario_a3c.bench.game_ablation_plot import make_plot
from mario_a3c.bench.game_ablation_results import make_table, read_results, write_results
from mario_a3c.bench.game_runs import GamePoint, GameRun, read_curve
from mario_a3c.bench.game_variants import BASE_FLAGS, VARIANTS, GameVariant
from mario_a3c.cli.train import parse_args
from mario_a3c.config import TrainingConfig
from mario_a3c.errors import ConfigError

SVG = "{http://www.w3.org/2000/svg}"
# Writes what a run writes: progress grows with the learning rate. Negative rates fail, as in the real one.
FAKE_TRAIN = """
import json, pathlib, sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("what was trained:", " ".join(sys.argv[1:]))
rate, seed = float(flags.get("--lr", 0.2)), int(flags["--seed"])
if rate < 0:
    print("--lr must be positive | really")
    sys.exit(2)
run = pathlib.Path(flags["--save-dir"]) / flags["--run-name"]
run.mkdir(exist_ok=True)
(run / "run.json").write_text(json.dumps({"config": {"vector_env": {"env": {"progress": "map"}}}}))
with open(run / "metrics.jsonl", "w") as metrics, open(run / "episodes.jsonl", "w") as episodes:
    for update in (1, 2):
        common = {"update": update, "global_step": 1000 * update, "time": 50.0 + update}
        learning = {"seconds": update, "entropy": 1.5, "kl": 0.01, "env_steps_per_sec": 1000.0}
        ended = {"stage": "1-1", "is_whole": True, "progress": update * (rate + seed / 10), "end_reason": "death"}
        print(json.dumps({**common, **learning}), file=metrics)
        print(json.dumps({**common, **ended}), file=episodes)
sys.exit(int(flags.get("--exit", 75)))
"""


def ablation(folder: Path, program: str = FAKE_TRAIN, at_once: int = 1) -> GameAblation:
    path = folder / "fake_train.py"
    path.write_text(program)
    command = sys.executable, str(path)
    return GameAblation(base=["--lr", "0.2"], seconds=7, runs=folder / "runs", at_once=at_once, command=command)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_has_flags_that_exist(variant: GameVariant) -> None:
    flags = ["10" if flag == "UPDATES" else flag for flag in variant.flags]
    config = parse_args(["--device", "cpu", *BASE_FLAGS, *flags]).training
    assert (config == base_config()) == (not flags)


@functools.cache
def base_config() -> TrainingConfig:
    return parse_args(["--device", "cpu", *BASE_FLAGS]).training


def test_names_are_those_of_folders() -> None:
    assert VARIANTS[0].name == "base"
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    assert GameVariant.parse("fast=--lr 1e-3 --epochs 2").flags == ["--lr", "1e-3", "--epochs", "2"]
    for wrong in ("fast", "fast=lr", "../fast=--lr 1"):
        with pytest.raises(ConfigError, match="like 'larger-steps="):
            GameVariant.parse(wrong)


def test_a_variant_that_fails_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    variants = [GameVariant("base"), GameVariant("bad", ["--lr", "-1"]), GameVariant("late", ["--exit", "5"])]
    lines: list[str] = []
    *_, runs = ablation(tmp_path).run_all(variants, [0, 1], lines.append)
    assert [(each.variant, each.seed) for each in runs] == [
        (name, seed) for seed in (0, 1) for name in ("base", "bad", "late")
    ]
    assert [bool(each.curve) for each in runs] == [True, False, True] * 2
    assert runs[1].failure == "exit code 2: --lr must be positive | really"
    assert runs[2].failure.startswith("exit code 5: ")
    assert "clear rates 0.00, progress 0.30 after 0.00 M steps in 2 s; 1 of 6 done" in lines[1]
    assert "failed: exit code 2" in lines[3]
    rows = make_table(runs, "a title").splitlines()
    numbers = (
        "| 1,000 (1,000 to 1,000) | 0.00 (0.00 to 0.00) | 0.00 (0.00 to 0.00) | 0.38 (0.30 to 0.45) | 1.50 (1.50 to "
    )
    assert rows[6].startswith("| base |  " + numbers)
    assert rows[7].startswith("| bad | `--lr -1` | - | - | - | - | - | - | seed 0: exit code 2: --lr must be positive")


def test_a_failure_is_what_was_said_last() -> None:
    box = """
[train] something before
╭─ Value error ────────────────────────────╮
│ Error parsing training.learner: --lr     │
│ must be positive                         │
│ ──────────────────────────────────────── │
│ For full helptext, see mario train --help│
╰──────────────────────────────────────────╯
"""
    assert last_words(box) == "Error parsing training.learner: --lr must be positive"
    assert last_words("Traceback\n  more\nRuntimeError: why\n\n") == "RuntimeError: why"
    assert last_words("") == "it said nothing"


def test_a_command_that_fails_early_is_not_given_the_curve_of_an_older_one(tmp_path: Path) -> None:
    first, second = (ablation(tmp_path).run(GameVariant("same", ["--lr", rate]), 0) for rate in ("1", "-1"))
    assert len(first.curve) == 2
    assert second.curve == []


def test_commands_are_the_base_then_the_variant_then_the_run(tmp_path: Path) -> None:
    run = ablation(tmp_path).run(GameVariant("slow", ["--epochs", "5"]), 3)
    said = (tmp_path / "runs" / "slow_seed3.log").read_text()
    assert "--lr 0.2 --epochs 5 --seed 3 --run-name slow_seed3 --save-dir" in said
    assert "--max-seconds 7" in said
    assert (run.base, run.flags, run.failure) == (["--lr", "0.2"], ["--epochs", "5"], "")


def test_a_schedule_can_end_with_the_run_once_its_length_is_known(tmp_path: Path) -> None:
    falling = GameVariant("falling", ["--total-updates", "UPDATES"])
    *_, runs = ablation(tmp_path).run_all([falling, GameVariant("base"), falling], [0], lambda _: None)
    assert "must be known from a variant before it" in runs[0].failure
    assert runs[2].flags == ["--total-updates", "2"]


# Waits until so many have come, itself among them, and says how many there are.
WAIT_FOR_OTHERS = """
import pathlib, sys, time
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
present = pathlib.Path(flags["--save-dir"]) / "present"
(present / flags["--run-name"]).mkdir(parents=True)
until = time.monotonic() + 20
while len(list(present.iterdir())) < int(flags["--others"]) and time.monotonic() < until:
    time.sleep(0.01)
print("there were", len(list(present.iterdir())))
sys.exit(3)
"""


def test_runs_may_share_the_machine(tmp_path: Path) -> None:
    variants = [GameVariant(name, ["--others", number]) for name, number in (("a", "2"), ("b", "2"), ("c", "3"))]
    *_, runs = ablation(tmp_path, WAIT_FOR_OTHERS, at_once=2).run_all(variants, [0], lambda _: None)
    assert [each.failure for each in runs] == [f"exit code 3: there were {number}" for number in (2, 2, 3)]
    assert "Up to 2 runs at once shared the machine." in make_table(runs, "title")


def test_only_the_last_episodes_from_a_stages_own_start_count(tmp_path: Path) -> None:
    rows = [
        *([1, "1-1", True, 0.1, "death"] for _ in range(100)),  # all but 30 of them are forgotten
        *([2, "1-1", True, 1.0, "flag"] for _ in range(30)),
        [2, "1-1", False, 1.0, "flag"],
        [2, "8-4", True, 0.25, "death"],
        [2, "8-4", False, 1.0, "flag"],
        [3, "8-4", True, 1.0, "flag"],
        [3, "8-3", False, 1.0, "flag"],  # never from its own
    ]
    names = ("update", "stage", "is_whole", "progress", "end_reason")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (tmp_path / "episodes.jsonl").write_text("\n".join(lines) + "\n")
    learning = {"entropy": 1.0, "kl": None, "env_steps_per_sec": 10.0}
    records = [
        {"update": number, "global_step": 100 * number, "time": 50.0 + 2 * number, "seconds": number, **learning}
        for number in (1, 2, 3)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    for progress in ("map", "position"):
        (tmp_path / "run.json").write_text(json.dumps({"config": {"vector_env": {"env": {"progress": progress}}}}))
        is_share = progress == "map"
        assert read_curve(tmp_path) == [
            GamePoint(1.0, 1, 100, 0.0, 0.1 if is_share else None, 1.0, None, 10.0),
            GamePoint(3.0, 2, 200, 0.5, 0.55 + 0.25 if is_share else None, 1.0, None, 10.0),
            GamePoint(5.0, 3, 300, 1.0, 0.55 + 0.625 if is_share else None, 1.0, None, 10.0),
        ]


def run_of(variant: str, seed: int, *clear_rates: float, progress: float | None = 1.0) -> GameRun:
    curve = [
        GamePoint(10.0 * number, number, 10**6 * number, rate, progress, 1.0, 0.01, 1e5)
        for number, rate in enumerate(clear_rates, 1)
    ]
    return GameRun(variant, ["--stages", "all"], ["--flag"], seed, "" if curve else "exit code 1", 70.0, curve)


RUNS = [
    run_of("a < b", 0, 0.5, 1.0),
    run_of("a < b", 1, 0.5, 3.0),
    run_of("position", 0, 0.25, 0.5, 0.75, progress=None),
    run_of("broken", 0),
]


def test_what_is_written_can_be_joined_and_drawn_again(tmp_path: Path) -> None:
    write_results(RUNS[:2], tmp_path / "first", "title")
    write_results(RUNS[2:], tmp_path / "more" / "second", "title")
    runs = read_results([tmp_path / "first.json", tmp_path / "more" / "second.json"])
    assert runs == RUNS
    assert "a < b" in (tmp_path / "first.md").read_text()
    assert (tmp_path / "more" / "second.svg").read_text() == make_plot(RUNS[2:], "title")


def test_the_plot_has_a_curve_for_each_variant_and_a_range_where_there_are_seeds() -> None:
    picture = ET.fromstring(make_plot(RUNS, "a title"))
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert {"a < b", "position", "broken (failed)", "30 seconds from the first step", "3 million steps"} <= {*texts}
    lines = picture.findall(f"{SVG}polyline")
    assert len(lines) == 2 * 2 + 2 * 1  # two have clear rates, one a progress, each over seconds and steps
    assert len(picture.findall(f"{SVG}polygon")) == 4
    ends = [float(line.get("points", "").split()[-1].split(",")[0]) for line in lines[:2]]
    assert ends[0] < ends[1]  # a curve ends with its runs
