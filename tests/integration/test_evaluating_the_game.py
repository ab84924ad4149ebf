"""Evaluation on the real game: the same episodes whatever plays them, and an agent's clear of 1-1 that stays one."""

from pathlib import Path

import pytest
import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.play import replay
from mario_a3c.envs.recording import Recording
from mario_a3c.evaluation.arena import MarioArenas
from mario_a3c.evaluation.config import MODES
from mario_a3c.evaluation.episodes import EpisodeResult, list_episodes
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.native.config import Engine, EngineConfig, RomConfig
from mario_a3c.native.console import Console
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, start_states

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[1] / "support" / "data"


@pytest.mark.parametrize("recurrent_type", ["none", "lstm"])
def test_neither_engine_nor_threads_nor_company_change_an_episode(
    game_rom: Path, session_cache: CacheDir, engine_path: Path, recurrent_type: str
) -> None:
    """With the real network, whose last bits depend on how it is computed, and with actions that hang on them."""
    torch.manual_seed(3)
    model = MarioActorCritic(ModelConfig(backbone="nature", recurrent_type=recurrent_type), 7)  # type: ignore[arg-type]
    player = NetworkPlayer(model, torch.device("cpu"))
    env = MarioEnvConfig(max_episode_steps=60)

    def play(engine: Engine, num_threads: int, num_episodes: int) -> dict[str, tuple[object, ...]]:
        arenas = MarioArenas(env, RomConfig(rom=game_rom), EngineConfig(engine=engine), session_cache)
        specs = list_episodes([Stage(1, 1), Stage(4, 2)], MODES, num_episodes)
        results = play_episodes(player, arenas, specs, seed=0, num_threads=num_threads, with_traces=True)
        return {result.spec.name: story_of(result) for result in results}

    many = play("recompiled", 3, 20)
    few = play("interpreter", 1, 5)
    assert len(few) == 2 * 4 * 5
    assert few == {name: many[name] for name in few}


def story_of(result: EpisodeResult) -> tuple[object, ...]:
    assert result.trace is not None
    return (str(result.as_row()), result.actions.tobytes(), result.trace.values.tobytes())


def test_a_stored_clear_of_an_agent_is_still_one(game_rom: Path, session_cache: CacheDir) -> None:
    """An episode of 1-1 after idle frames, evaluated and written on 2026-11-15."""
    recording = Recording.load(DATA / "1-1_noop.json")
    console = Console(game_rom)
    start = start_states(open_rom(game_rom), session_cache)[recording.stage]
    assert replay(console, recording, start)
    assert console.game().is_stage_clear
