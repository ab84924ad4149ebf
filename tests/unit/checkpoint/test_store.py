"""What is saved comes back equal, and what is no checkpoint is refused without being run."""

import hashlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.durable_file import link_to
from mario_a3c.envs.env_batch import EPISODE_DTYPE
from mario_a3c.errors import CheckpointError

NAMES = CheckpointNames(1, 1)


def a_state() -> dict[str, Any]:
    episodes = np.zeros(3, EPISODE_DTYPE)
    episodes["total_reward"] = [0.5, -1.0, 1e-9]
    return {
        "learner": {"model": {"fc.weight": torch.randn(4, 5)}, "num_updates": 7, "lr_scale": 0.1 + 0.2},
        "half": torch.ones(2, dtype=torch.bfloat16),
        "episodes": episodes,
        "states": np.arange(6, dtype=np.uint64).reshape(2, 3),
        "empty": {},
        "nothing": None,
        "text": "x",
    }


def test_a_state_comes_back_equal(tmp_path: Path) -> None:
    state = a_state()
    saved = load_checkpoint(save_checkpoint(tmp_path / "a.pt", state, {"update": 7}))
    assert saved.metadata == {"update": 7}
    assert torch.equal(saved.state["learner"]["model"]["fc.weight"], state["learner"]["model"]["fc.weight"])
    assert saved.state["learner"]["lr_scale"] == state["learner"]["lr_scale"]
    assert torch.equal(saved.state["half"], state["half"])
    for name in ("episodes", "states"):
        assert saved.state[name].dtype == state[name].dtype
        np.testing.assert_array_equal(saved.state[name], state[name])
    assert (saved.state["empty"], saved.state["nothing"], saved.state["text"]) == ({}, None, "x")


def test_the_json_beside_it_names_size_and_digest(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "a.pt", a_state(), {"update": 7})
    described = json.loads((tmp_path / "a.json").read_text())
    content = path.read_bytes()
    assert described == {
        "update": 7, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


def test_what_no_checkpoint_can_hold_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"learner\.model is a set"):
        save_checkpoint(tmp_path / "a.pt", {"learner": {"model": {1}}}, {})
    assert not list(tmp_path.iterdir())


class Harmful:
    def __reduce__(self) -> Any:
        return os.system, ("touch harmed",)


def test_what_is_no_checkpoint_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = save_checkpoint(tmp_path / "whole.pt", a_state(), {}).read_bytes()
    (tmp_path / "half.pt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.pt").write_bytes(b"")
    (tmp_path / "harmful.pt").write_bytes(pickle.dumps(Harmful(), protocol=2))
    torch.save({"harm": Harmful()}, tmp_path / "harmful2.pt")
    torch.save({"weights": torch.ones(2)}, tmp_path / "other.pt")
    for name in ("half", "empty", "harmful", "harmful2", "other", "missing"):
        with pytest.raises(CheckpointError, match=name):
            load_checkpoint(tmp_path / f"{name}.pt")
    assert not (tmp_path / "harmed").exists()


def test_a_link_is_replaced_and_stays_relative(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text(name)
        link_to(tmp_path / "latest", tmp_path / "run" / name)
        assert (tmp_path / "latest").read_text() == name
    assert os.readlink(tmp_path / "latest") == "run/b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run"]


def test_names_are_the_documented_ones(tmp_path: Path) -> None:
    assert NAMES.numbered(tmp_path, 42).name == "a3c_world1_stage1_0000042.pt"
    assert NAMES.latest(tmp_path).name == "a3c_world1_stage1_latest.pt"
    assert CheckpointNames(2, 3, is_multi=True).latest(tmp_path).name == "a3c_world2_stage3_multi_latest.pt"
    for update in (3, 20, 100):
        NAMES.numbered(tmp_path, update).touch()
    CheckpointNames(1, 1, is_multi=True).numbered(tmp_path, 5).touch()
    NAMES.latest(tmp_path).touch()
    assert [path.name[-10:-3] for path in NAMES.all_numbered(tmp_path)] == ["0000003", "0000020", "0000100"]
