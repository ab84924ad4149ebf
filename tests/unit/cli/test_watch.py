"""`mario watch` shows the newest weights of a run."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheConfig
from mario_a3c.cli.main import main
from mario_a3c.cli.watch import Arguments, NewestAgent, watch
from mario_a3c.errors import CheckpointError, ExitCode
from mario_a3c.native.config import EngineConfig, RomConfig
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import write_tiny_game


class Screen:
    """Counts, and lets somebody press escape after so many pictures."""

    def __init__(self, patience: int = 10**9) -> None:
        self.num_shown, self._patience = 0, patience

    def show(self, picture: np.ndarray, *, frames: int = 1) -> None:
        self.num_shown += 1

    def pressed(self) -> set[str]:
        return {"escape"} if self.num_shown >= self._patience else set()


def arguments_for(folder: Path, episodes: int = 0) -> Arguments:
    rom = RomConfig(rom=write_tiny_game(folder), allow_unknown_rom=True)
    engine, cache = EngineConfig(engine="interpreter"), CacheConfig(cache_dir=folder / "cache")
    return Arguments(run=folder / "run", episodes=episodes, engine=engine, rom=rom, cache=cache)


def test_episodes_are_shown_until_enough_or_escape(tmp_path: Path) -> None:
    write_agent(tmp_path / "run" / "a3c_world1_stage1_latest.pt", tiny_agent_config())
    screen = Screen()
    assert watch(arguments_for(tmp_path, episodes=2), screen) == 2
    assert screen.num_shown > 90
    assert watch(arguments_for(tmp_path), Screen(patience=5)) == 0


def test_newer_weights_are_taken_up_and_a_file_that_is_being_replaced_is_waited_out(tmp_path: Path) -> None:
    path = tmp_path / "run" / "a3c_world1_stage1_latest.pt"
    write_agent(path, tiny_agent_config())
    newest = NewestAgent(tmp_path / "run")
    first = newest.load()
    assert newest.load() is first
    write_agent(path, tiny_agent_config(), metadata={"update": 9})
    os.utime(path, (2_000_000_000, 2_000_000_000))
    second = newest.load()
    assert (first.update, second.update) == (3, 9)
    path.unlink()
    assert newest.load() is second


def test_a_run_without_a_checkpoint_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()

    def arrives(_: float) -> None:
        write_agent(tmp_path / "run" / "a3c_world1_stage1_latest.pt", tiny_agent_config())

    monkeypatch.setattr(time, "sleep", arrives)
    assert NewestAgent(tmp_path / "run").load().update == 3
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        NewestAgent(tmp_path / "elsewhere").load()


def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["--scale", "0"], ["--episodes", "-1"], ["--mode", "lucky"]):
        with pytest.raises(SystemExit) as refused:
            main(["watch", *flags])
        assert refused.value.code == ExitCode.USAGE
        assert flags[0] in capsys.readouterr().err
