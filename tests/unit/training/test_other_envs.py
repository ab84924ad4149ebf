"""`--vectorization async` and `sync` are what a run is made of, or an error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.vector_env_batch import VectorEnvBatch
from mario_a3c.errors import ConfigError, SetupError
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.training.build import build_training
from mario_a3c.training.stopping import StopRequest
from tests.support.runs import corridor_config
from tests.support.tiny_game import write_tiny_game

Configure = Callable[..., TrainingConfig]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    def make(**vector_env: Any) -> TrainingConfig:
        return replace(
            corridor_config(tmp_path),
            vector_env=MarioVectorEnvConfig(num_envs=2, env=MarioEnvConfig(frame_stack=2), **vector_env),
            engine=EngineConfig(engine="interpreter"),
            rom=RomConfig(rom=write_tiny_game(tmp_path), allow_unknown_rom=True),
        )

    return make


def test_processes_are_learned_from_and_keep_their_logs(configure: Configure, cache: CacheDir, tmp_path: Path) -> None:
    config = configure(vectorization="async")
    training = build_training(config, cache, StopRequest(), failure_dir=tmp_path)
    assert isinstance(training.envs[0], VectorEnvBatch)
    training.trainer.make_update()
    assert training.trainer.parts.progress.num_steps == 2 * config.collector.rollout_steps
    training.trainer.parts.close()
    assert {path.name for path in (tmp_path / "environments").iterdir()} == {
        "env_0.log",
        "env_1.log",
        "env_start.jsonl",
    }


def test_another_console_that_is_not_here_is_an_error(configure: Configure, cache: CacheDir) -> None:
    with pytest.raises(SetupError, match="fc_emulator cannot be imported"):
        build_training(configure(vectorization="sync", backend="fc-emulator"), cache, StopRequest())


@pytest.mark.parametrize(
    ("settings", "flag"),
    [
        ({"curriculum": CurriculumConfig(curriculum="stages")}, "--curriculum"),
        ({"starts": StartConfig(start_late=0.5)}, "--start-late"),
    ],
    ids=str,
)
def test_what_only_native_environments_can_do_is_refused(
    configure: Configure, cache: CacheDir, settings: dict[str, Any], flag: str
) -> None:
    with pytest.raises(ConfigError, match=flag):
        build_training(replace(configure(vectorization="sync"), **settings), cache, StopRequest())
