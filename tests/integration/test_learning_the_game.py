"""A few updates on the game itself: the parts fit together."""

from pathlib import Path

import pytest
import torch

from mario_a3c.bench.short_training import PLAIN, ShortTraining
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.native.config import EngineConfig, RomConfig


@pytest.mark.slow
def test_the_game_is_collected_from_and_learned_from(game_rom: Path) -> None:
    env = MarioEnvConfig(frame_stack=1, max_episode_steps=6)
    config = MarioVectorEnvConfig(num_envs=4, num_threads=1, env=env)
    envs = MarioBatch(config, rom=RomConfig(rom=game_rom), engine=EngineConfig(engine="interpreter"))
    torch.manual_seed(0)
    model = PLAIN.prepare(MarioActorCritic(ModelConfig(backbone="nature", recurrent_type="gru"), envs.num_actions))
    replayed = ReplayConfig(per=True, per_capacity=16, per_batch=4)
    training = ShortTraining(envs, model, replay_config=replayed, rollout_steps=8)
    for rollout, stats in training.updates(3):
        assert stats.first_log_rho_max < 1e-5
        assert stats.num_skipped_steps == 0
        assert rollout.truncated.any()
        assert (rollout.truncation_values[rollout.truncated] != 0).all()
        assert len(rollout.episodes) == int((rollout.truncated | rollout.terminated).sum())
        # The picture moves: frames of one environment differ from step to step.
        assert not torch.equal(rollout.frames[4, 0], rollout.frames[8, 0])
    assert training.replay is not None
    assert training.replay.stats()["replay_push_total"] == 3 * 8 * 4
