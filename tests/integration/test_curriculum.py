"""What a curriculum is for: a way that chance does not find is learned from its end."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import BudgetConfig, RunConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import StartState
from mario_a3c.exploration.config import CurriculumConfig, StartConfig
from mario_a3c.exploration.deaths import EXCERPT_STEPS
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.metrics.reader import LineReader
from mario_a3c.models.config import ExecutionConfig
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage
from mario_a3c.training.run import run_training
from tests.support.runs import digest_of, resumed
from tests.support.small_networks import make_network
from tests.support.tasks import Ledge
from tests.support.torch_threads import one_thread
from tests.support.training import greedy_return

__all__ = ["one_thread"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LENGTH, SEED = 16, 0
STAGE = Stage(1, 1)


def train_on_the_ledge(
    curriculum: Any, start_order: Any = "backward"
) -> tuple[StartSampler, float, list[float], float]:
    """The sampler, the greedy return from the real start, how far back episodes began and the first clear rate."""
    along = [StartState(STAGE, b"", "", place / LENGTH) for place in range(1, LENGTH)]
    table = StartTable.of([StartState(STAGE, b"")], {STAGE: along})
    config = CurriculumConfig(
        curriculum=curriculum, start_order=start_order, clear_rate_to_move=0.5, clear_rate_episodes=20
    )
    sampler = StartSampler(table, StartConfig(), config)
    envs = Ledge(16, length=LENGTH, starts=np.round(table.share * LENGTH).astype(int).tolist())
    envs.set_weights(sampler.weights())
    envs.reset(seed=SEED)
    model = make_network(3, seed=SEED)
    training = ShortTraining(envs, model, learner_config=LearnerConfig(lr=2e-3, epochs=3), total_updates=120, seed=SEED)
    starts, clears = [], []
    for rollout, _ in training.updates():
        sampler.observe(rollout.episodes)
        envs.set_weights(sampler.weights())
        starts.append(sampler.measures()["stage_starts"]["1-1"])
        clears.append(float(np.mean(rollout.episodes["end_reason"] == 1)))
    return sampler, greedy_return(Ledge(16, length=LENGTH), model), starts, clears[0]


def test_a_ledge_that_chance_never_crosses_is_learned_backward() -> None:
    sampler, reached, starts, first_clear_rate = train_on_the_ledge("starts")
    assert first_clear_rate > 0.05, "near the goal chance suffices"
    assert starts == sorted(starts, reverse=True)
    assert starts[0] > 0.7
    assert starts[-1] == 0.0
    assert sampler.measures()["stage_real_starts"]["1-1"] == 1.0
    assert reached == Ledge.best_return


def test_a_ledge_that_chance_never_crosses_is_learned_everywhere_at_once() -> None:
    sampler, reached, _, first_clear_rate = train_on_the_ledge("starts", "spread")
    assert first_clear_rate > 0.0, "near the goal chance suffices"
    assert sampler.measures()["stage_real_starts"]["1-1"] > 0.9
    assert reached == Ledge.best_return


def test_without_it_nothing_is_learned() -> None:
    _, reached, _, first_clear_rate = train_on_the_ledge("none")
    assert (reached, first_clear_rate) == (0.0, 0.0)


def game_config(folder: Path, rom: Path, cache: CacheDir, *, overlap: bool = False) -> TrainingConfig:
    """Two stages and both curricula, which move with every episode."""
    return TrainingConfig(
        budget=BudgetConfig(total_updates=6),
        run=RunConfig(save_dir=folder, run_name="small"),
        vector_env=MarioVectorEnvConfig(num_envs=6, env=MarioEnvConfig(stage_span=2, max_episode_steps=5)),
        curriculum=CurriculumConfig(curriculum="both", start_order="backward", patience_episodes=1, power_starts=0.3),
        collector=CollectorConfig(rollout_steps=12, overlap_collect=overlap),
        execution=ExecutionConfig(device="cpu"),
        learner=LearnerConfig(epochs=2, minibatches=2),
        engine=EngineConfig(engine="recompiled"),
        rom=RomConfig(rom=rom),
        cache=CacheConfig(cache_dir=cache.root),
    )


def trained_state(config: TrainingConfig) -> Any:
    checkpoint = run_training(config).checkpoint
    assert checkpoint is not None
    return load_checkpoint(checkpoint).state


@pytest.mark.usefixtures("engine_path")
def test_a_run_with_curricula_goes_on_to_the_last_bit(tmp_path: Path, game_rom: Path, session_cache: CacheDir) -> None:
    whole = trained_state(game_config(tmp_path / "whole", game_rom, session_cache))
    config = game_config(tmp_path / "parts", game_rom, session_cache)
    half = trained_state(replace(config, budget=replace(config.budget, max_steps=3 * 6 * 12)))
    parts = trained_state(resumed(config))
    assert digest_of(whole) == digest_of(parts)
    frontiers = [state["starts"]["starts"]["frontier"].sum() for state in (half, whole)]
    assert frontiers[0] > frontiers[1], "the curriculum has moved after the interruption"
    episodes = list(LineReader(tmp_path / "whole" / "small" / "episodes.jsonl"))
    from_own_starts = [each for each in episodes if each["is_whole"]]
    assert 0 < len(from_own_starts) == whole["progress"]["num_episodes"] < len(episodes)
    assert half["starts"]["power"]["tries"].sum() < whole["starts"]["power"]["tries"].sum()


@pytest.mark.usefixtures("engine_path")
def test_an_overlapped_run_with_curricula_is_the_same_again(
    tmp_path: Path, game_rom: Path, session_cache: CacheDir
) -> None:
    runs = [game_config(tmp_path / name, game_rom, session_cache, overlap=True) for name in ("one", "other")]
    assert len({digest_of(trained_state(config)) for config in runs}) == 1


@pytest.mark.usefixtures("engine_path")
def test_deaths_are_played_again_and_kept_over_a_restart(
    tmp_path: Path, game_rom: Path, session_cache: CacheDir
) -> None:
    config = game_config(tmp_path, game_rom, session_cache, overlap=True)
    config = replace(
        config,
        budget=BudgetConfig(total_updates=20),
        vector_env=MarioVectorEnvConfig(num_envs=8, env=MarioEnvConfig(stages="1-1")),
        curriculum=CurriculumConfig(curriculum="starts", death_starts=0.6),
        collector=CollectorConfig(rollout_steps=32, overlap_collect=True),
        learner=LearnerConfig(),
    )
    deaths = trained_state(config)["starts"]["deaths"]
    assert len(deaths["states"]) == len(deaths["slots"]) > 0
    assert deaths["rate"]["tries"].sum() > 0
    own_starts = 1 + config.starts.start_states
    episodes = [each for each in LineReader(tmp_path / "small" / "episodes.jsonl") if each["start"] >= own_starts]
    assert max(each["length"] for each in episodes) == EXCERPT_STEPS
    assert not any(each["is_whole"] for each in episodes)
    longer = replace(config, budget=BudgetConfig(total_updates=22))
    assert len(trained_state(resumed(longer))["starts"]["deaths"]["slots"]) >= len(deaths["slots"])
