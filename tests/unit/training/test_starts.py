"""Where the episodes of a run begin."""

from dataclasses import replace
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.errors import ConfigError
from mario_a3c.exploration import maps
from mario_a3c.exploration.config import CurriculumConfig, SearchConfig, StartConfig
from mario_a3c.exploration.maps import StageWay
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage
from mario_a3c.training import starts
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopRequest
from tests.support.arenas import tiny_agent_config
from tests.support.runs import corridor_config
from tests.support.tiny_game import write_tiny_game


def game_config(folder: Path) -> TrainingConfig:
    return replace(
        corridor_config(folder),
        vector_env=replace(tiny_agent_config().vector_env, num_envs=2),
        rom=RomConfig(rom=write_tiny_game(folder), allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        curriculum=CurriculumConfig(curriculum="starts"),
    )


def test_ways_are_searched_for_as_long_as_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SearchConfig] = []

    def note(tasks: object, cache: object, *, config: SearchConfig, **_: object) -> dict[Stage, StageWay]:
        asked.append(config)
        return {}

    monkeypatch.setattr(starts, "obtain_ways", note)
    config = game_config(tmp_path)
    for each in (config, replace(config, starts=StartConfig(way_frames=30_000_000))):
        assert starts.Ways(each, CacheDir.open(each.cache), StopRequest()).by_stage == {}
    assert [each.polish_frames for each in asked] == [maps.MAP_SEARCH.polish_frames, 30_000_000]
    assert asked[1].max_frames > 30_000_000  # whatever the first way through takes
    with pytest.raises(ConfigError, match=r"--way-frames must be 0 or more, got -1"):
        StartConfig(way_frames=-1)


def test_a_run_that_is_interrupted_while_it_looks_for_ways_leaves_no_folder(tmp_path: Path) -> None:
    config = game_config(tmp_path)
    stop = StopRequest()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        run_training(config, stop=stop)
    assert list((tmp_path / "runs").iterdir()) == []
