"""Where the episodes of a run begin."""

from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.exploration.config import CurriculumConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopRequest
from tests.support.arenas import tiny_agent_config
from tests.support.runs import corridor_config
from tests.support.tiny_game import write_tiny_game


def test_a_run_that_is_interrupted_while_it_looks_for_ways_leaves_no_folder(tmp_path: Path) -> None:
    config = replace(
        corridor_config(tmp_path),
        vector_env=replace(tiny_agent_config().vector_env, num_envs=2),
        rom=RomConfig(rom=write_tiny_game(tmp_path), allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        curriculum=CurriculumConfig(curriculum="starts"),
    )
    stop = StopRequest()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        run_training(config, stop=stop)
    assert list((tmp_path / "runs").iterdir()) == []
