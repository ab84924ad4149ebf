"""`mario checkpoint`: what it prints, what it removes, and its exit codes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from mario_a3c.run_dir import RunDir
from tests.support.checkpoints import NAMES, save_small, small_metadata, small_state


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "first"
    for update in (1, 2, 3, 4, 5):
        save_small(folder, update, clear_rate=0.2 * update)
    return folder


def test_list_shows_every_run_and_which_is_latest(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_small(run.parent / "second", 7)
    assert main(["checkpoint", "list", str(run.parent)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 6
    assert lines[5].split()[:3] == ["5", "50", "100%"]
    assert "latest" in lines[5]
    assert "latest" not in lines[4]
    assert main(["checkpoint", "list", str(run), "--json"]) == 0
    assert [row["update"] for row in json.loads(capsys.readouterr().out)] == [1, 2, 3, 4, 5]


def test_show_reads_everything_or_says_why_not(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", "show", str(run)]) == 0
    shown = capsys.readouterr().out
    for words in ("0000005.pt", "global_step          50", "learner.model.fc.weight", "float32", "(64,)", '"lr": 0.1'):
        assert words in shown
    assert main(["checkpoint", "show", str(NAMES.numbered(run, 2)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["update"] == 2
    os.truncate(NAMES.numbered(run, 2), 10)
    assert main(["checkpoint", "show", str(NAMES.numbered(run, 2))]) == ExitCode.CHECKPOINT
    assert "0000002.pt cannot be used" in capsys.readouterr().err


def test_verify_finds_what_is_damaged_torn_or_swapped(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", "verify", str(run)]) == 0
    assert "5 of 5 are good" in capsys.readouterr().out
    os.truncate(NAMES.numbered(run, 1), 10)
    NAMES.numbered(run, 2).with_suffix(".json").unlink()
    third, fourth = (NAMES.numbered(run, update).with_suffix(".json") for update in (3, 4))
    third.write_text(fourth.read_text())
    fourth.write_text("{")
    assert main(["checkpoint", "verify", str(run)]) == ExitCode.CHECKPOINT
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()[:5]] == ["BAD", "BAD", "BAD", "BAD", "good"]
    for words in ("it has only 10 bytes", "is missing", "speaks of another file", "cannot be read", "1 of 5 are good"):
        assert words in printed
    assert main(["checkpoint", "verify", str(run.parent / "nowhere")]) == ExitCode.CHECKPOINT


def test_prune_keeps_the_last_the_latest_and_the_best(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink(NAMES.numbered(run, 2).name, NAMES.best(run))
    assert main(["checkpoint", "prune", str(run), "--keep", "2", "--dry-run"]) == 0
    assert len(NAMES.all_numbered(run)) == 5
    with RunDir(run).locked():
        assert main(["checkpoint", "prune", str(run), "--keep", "2"]) == ExitCode.ENVIRONMENT
    assert main(["checkpoint", "prune", str(run.parent), "--keep", "2"]) == 0
    assert [path.name[-10:-3] for path in NAMES.all_numbered(run)] == ["0000002", "0000004", "0000005"]
    assert sorted(path.stem[-7:] for path in run.glob("*_0*.json")) == ["0000002", "0000004", "0000005"]
    os.truncate(NAMES.numbered(run, 5), 10)
    assert main(["checkpoint", "prune", str(run), "--keep", "1"]) == ExitCode.CHECKPOINT
    assert len(NAMES.all_numbered(run)) == 3
    assert main(["checkpoint", "prune", str(run), "--keep", "0"]) == ExitCode.USAGE


def test_an_export_holds_weights_and_nothing_of_the_machine_or_the_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = b"bytes of a console" * 100
    state: dict[str, Any] = {
        **small_state(3, 4000),
        "collector": {"envs": torch.frombuffer(bytearray(secret), dtype=torch.uint8)},
    }
    state["learner"]["optimizer"] = {"exp_avg": torch.ones(4000)}
    whole = save_checkpoint(
        tmp_path / "whole.pt",
        state,
        small_metadata(
            3,
            device="cuda:1",
            actions=["noop"],
            tensorboard_log_dir=str(tmp_path),
            wandb_id="of-the-run",
            initial_weights={"file": str(tmp_path / "first.pt")},
        ),
    )
    small = tmp_path / "release" / "small.pt"
    small.parent.mkdir()
    assert main(["checkpoint", "export", str(whole), str(small), "--weights", "both"]) == 0
    exported = load_checkpoint(small)
    assert set(exported.state) == {"learner"}
    assert set(exported.state["learner"]) == {"model", "averaged"}
    for weights in (exported.state["learner"]["model"], exported.state["learner"]["averaged"]["weights"]):
        assert weights["fc.weight"].dtype is torch.float16
        assert torch.equal(weights["fc.weight"].float(), state["learner"]["model"]["fc.weight"])
    assert exported.metadata["kind"] == "weights"
    assert exported.metadata["actions"] == ["noop"]
    assert exported.metadata["config"] == {"learner": {"lr": 0.1}, "vector_env": {"num_envs": 8}}
    content = small.read_bytes() + small.with_suffix(".json").read_bytes()
    for words in (b"bytes of a console", b"secret", b"cuda:1", b"of-the-run", str(tmp_path).encode()):
        assert words not in content
    assert main(["checkpoint", "export", str(small), str(tmp_path / "again.pt")]) == 0  # nothing more is lost
    capsys.readouterr()
    assert main(["checkpoint", "export", str(whole), str(whole)]) == ExitCode.CHECKPOINT
    assert main(["checkpoint", "export", str(whole)]) == ExitCode.USAGE
    assert main(["checkpoint", "export", str(whole), str(tmp_path / "x.bin")]) == ExitCode.USAGE
    assert main(["train", "--resume", str(small)]) == ExitCode.CHECKPOINT
    assert "holds weights only" in capsys.readouterr().err


def test_an_export_of_one_set_says_which_and_is_half_as_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state: dict[str, Any] = small_state(3, 4000)
    state["learner"]["averaged"]["weights"] = {"fc.weight": torch.full((4000,), 0.5)}
    state["progress"] = {"seconds": 12.5}
    whole = save_checkpoint(tmp_path / "whole.pt", state, small_metadata(3))
    sizes = {}
    for wanted in ("both", "last", "averaged", "auto"):
        target = tmp_path / f"{wanted}.pt"
        assert main(["checkpoint", "export", str(whole), str(target), "--weights", wanted]) == 0
        sizes[wanted] = target.stat().st_size
    assert "the last weights" in capsys.readouterr().out  # auto: the average of three updates is too young
    averaged = load_checkpoint(tmp_path / "averaged.pt")
    assert torch.equal(averaged.state["learner"]["model"]["fc.weight"], torch.full((4000,), 0.5).half())
    assert averaged.state["learner"]["averaged"] == {}
    assert (averaged.metadata["weights"], averaged.metadata["seconds"]) == ("averaged", 12.5)
    assert "weights" not in load_checkpoint(tmp_path / "both.pt").metadata
    assert sizes["both"] - sizes["last"] >= 8000
    again = tmp_path / "again.pt"
    assert main(["checkpoint", "export", str(tmp_path / "averaged.pt"), str(again)]) == 0
    assert load_checkpoint(again).metadata["weights"] == "averaged"
    assert main(["checkpoint", "export", str(again), str(tmp_path / "no.pt"), "--weights", "last"]) == 4
    assert "holds the averaged weights alone" in capsys.readouterr().err


def test_what_half_precision_cannot_hold_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = save_small(tmp_path / "run", 70_000)
    assert main(["checkpoint", "export", str(whole), str(tmp_path / "small.pt")]) == ExitCode.CHECKPOINT
    assert "half precision" in capsys.readouterr().err
    assert not (tmp_path / "small.pt").exists()
