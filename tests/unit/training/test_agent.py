"""An agent comes from its checkpoint alone, and what does not fit is said."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from mario_a3c.checkpoint.store import save_checkpoint
from mario_a3c.errors import CheckpointError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.config import ModelConfig
from mario_a3c.training.agent import choose_weights, find_checkpoint, load_agent
from tests.support.arenas import tiny_agent_config, write_agent


def test_an_agent_needs_its_file_alone(tmp_path: Path) -> None:
    config = tiny_agent_config(frame_skip=3)
    path = write_agent(tmp_path / "agent.pt", config)
    path.with_suffix(".json").unlink()
    agent = load_agent(path)
    assert (agent.config.vector_env, agent.config.model) == (config.vector_env, config.model)
    assert agent.actions == config.vector_env.env.actions
    assert (agent.update, agent.weights) == (3, "last")
    assert not any(parameter.requires_grad for parameter in agent.model.parameters())


def test_weights_in_half_precision_are_computed_with_in_float32(tmp_path: Path) -> None:
    whole = load_agent(write_agent(tmp_path / "whole.pt", tiny_agent_config()))
    half = {name: each.half() for name, each in whole.model.named_parameters()}
    path = save_checkpoint(tmp_path / "half.pt", {"learner": {"model": half}}, whole.metadata)
    loaded = dict(load_agent(path).model.named_parameters())
    assert {each.dtype for each in loaded.values()} == {torch.float32}
    assert all(torch.equal(each, half[name].float()) for name, each in loaded.items())


def test_what_was_shown_to_a_teacher_is_not_needed_to_play(tmp_path: Path) -> None:
    followed = tiny_agent_config(observe="both")
    agent = load_agent(write_agent(tmp_path / "agent.pt", followed))
    assert agent.config == tiny_agent_config()
    assert agent.model.observation_shape == (2, 84, 84)
    reader = replace(followed, model=ModelConfig(backbone="ram", hidden_size=16))
    agent = load_agent(write_agent(tmp_path / "reader.pt", reader))
    assert agent.config == reader, "unless it is what it plays by"
    assert agent.model.observation_shape == (2, 110, 84)


def test_averaged_weights_are_taken_once_they_have_forgotten_the_beginner() -> None:
    def taken(num_updates: int, wanted: Any = "auto", decay: float = 0.99) -> str:
        learner = {"model": {}, "averaged": {"num_updates": num_updates, "weights": {}} if decay else {}}
        config = replace(tiny_agent_config(), learner=LearnerConfig(ema_decay=decay))
        return choose_weights(learner, config, wanted)[1]

    assert (taken(399), taken(401)) == ("last", "averaged")
    assert (taken(5, "averaged"), taken(5000, "last")) == ("averaged", "last")
    assert taken(5000, decay=0.0) == "last"
    with pytest.raises(CheckpointError, match="--weights averaged"):
        taken(5000, "averaged", decay=0.0)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    config = tiny_agent_config()
    other = write_agent(tmp_path / "other.pt", config, metadata={"actions": ["noop", "left"]})
    with pytest.raises(CheckpointError, match=r"trained with the actions noop, left"):
        load_agent(other)
    unknown = write_agent(tmp_path / "unknown.pt", config, metadata={"config": {"magic": 1}, "version": "9.0"})
    with pytest.raises(CheckpointError, match=r"version 9\.0.*magic"):
        load_agent(unknown)
    wider = replace(config, model=replace(config.model, hidden_size=32))
    misfit = write_agent(
        tmp_path / "misfit.pt", wider, metadata=dict(load_agent(write_agent(tmp_path / "a.pt", config)).metadata)
    )
    with pytest.raises(CheckpointError, match="saved network does not fit"):
        load_agent(misfit)
    nothing = save_checkpoint(tmp_path / "nothing.pt", {}, load_agent(tmp_path / "a.pt").metadata)
    with pytest.raises(CheckpointError, match="holds no network"):
        load_agent(nothing)
    silent = save_checkpoint(tmp_path / "silent.pt", {}, {})
    with pytest.raises(CheckpointError, match="does not say with which options"):
        load_agent(silent)


def test_an_agent_of_another_rom_is_refused(tmp_path: Path) -> None:
    agent = load_agent(write_agent(tmp_path / "a.pt", tiny_agent_config(), metadata={"rom_sha1": "aa", "rom": "Mario"}))
    rom: Any = SimpleNamespace(title="Luigi", cartridge=SimpleNamespace(sha1="bb"))
    with pytest.raises(CheckpointError, match=r"trained on Mario \(SHA-1 aa\), here is Luigi \(bb\)"):
        agent.expect_rom(rom)
    rom.cartridge.sha1 = "aa"
    agent.expect_rom(rom)


def test_a_checkpoint_is_found_by_file_by_run_and_by_being_the_newest(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(CheckpointError, match="train first"):
        find_checkpoint(None, runs)
    path = write_agent(runs / "one" / "a3c_world1_stage1_latest.pt", tiny_agent_config())
    flat = write_agent(runs / "a3c_world1_stage1_latest.pt", tiny_agent_config())
    assert find_checkpoint(path, runs) == find_checkpoint(runs / "one", runs) == path
    assert find_checkpoint(None, runs) == flat
    with pytest.raises(CheckpointError, match=r"no checkpoint .*two; runs in .*: one"):
        find_checkpoint(tmp_path / "two", runs)
    for name in ("b.pt", "a.pt"):
        write_agent(tmp_path / "pretrained" / name, tiny_agent_config())
    with pytest.raises(CheckpointError, match=r"pretrained holds several agents: name one of them, a\.pt, b\.pt"):
        find_checkpoint(tmp_path / "pretrained", runs)
