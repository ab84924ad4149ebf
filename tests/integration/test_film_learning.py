"""A short run on the real game becomes a film of its learning."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig, RunConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.metrics.config import MetricsConfig
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.training.filming import FilmConfig, film_run
from mario_a3c.training.run import run_training

pytestmark = pytest.mark.slow


def test_a_run_is_filmed_from_its_checkpoints(game_rom: Path, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    rom, cache = RomConfig(rom=game_rom), CacheConfig(cache_dir=tmp_path / "cache")
    engine = EngineConfig(engine="interpreter")
    run = run_training(
        TrainingConfig(
            budget=BudgetConfig(total_updates=4),
            run=RunConfig(save_dir=tmp_path / "runs", save_interval=0.001, keep_checkpoints=100),
            vector_env=MarioVectorEnvConfig(num_envs=4, env=MarioEnvConfig(max_episode_steps=60)),
            collector=CollectorConfig(rollout_steps=8),
            model=ModelConfig(backbone="nature", hidden_size=32),
            execution=ExecutionConfig(device="cpu"),
            learner=LearnerConfig(minibatches=2),
            metrics=MetricsConfig(tensorboard_dir=tmp_path / "tensorboard"),
            rom=rom,
            engine=engine,
            cache=cache,
        )
    ).run_dir
    config = FilmConfig(num_moments=3, num_episodes=3, columns=3, clip_seconds=0.5, device="cpu")
    video, gif = film_run(run, config, rom=rom, engine=engine, cache=CacheDir.open(cache))
    assert (video, gif) == (run / "videos" / "learning.mp4", run / "videos" / "learning.gif")
    with av.open(str(video)) as container:
        pictures = sum(1 for _ in container.decode(video=0))
        assert (container.streams.video[0].width, container.streams.video[0].height) == (768, 284)
    assert pictures > 2 * 15
    assert 0 < gif.stat().st_size < 5_000_000
