"""What the composition root puts together."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.overlapped import OverlappedCollector
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.config import MarioVectorEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.training.build import build_training, group_sizes
from mario_a3c.training.stopping import StopRequest
from tests.support.runs import NUM_ENVS, corridor_config

pytestmark = pytest.mark.usefixtures("corridor")


def test_overlapped_the_network_that_acts_is_not_the_one_that_learns(tmp_path: Path, cache: CacheDir) -> None:
    collector = CollectorConfig(rollout_steps=16, overlap_collect=True)
    trainer = build_training(corridor_config(tmp_path, collector=collector), cache, StopRequest()).trainer
    overlapped = trainer.parts.collector
    assert isinstance(overlapped, OverlappedCollector)
    learning = {parameter.data_ptr() for parameter in trainer.parts.learner.model.parameters()}
    for writer in overlapped._writers:
        assert learning.isdisjoint(parameter.data_ptr() for parameter in writer.actor.model.parameters())
    lags = []
    for _ in range(4):
        trainer.make_update()
        assert trainer.last_stats is not None
        lags.append(trainer.last_stats.policy_lag)
    assert lags == [0, 1, 1, 1]
    assert trainer.parts.progress.num_steps == 4 * 16 * NUM_ENVS
    assert trainer.parts.progress.num_episodes > 0
    trainer.parts.close()


def test_taking_turns_nothing_lags(tmp_path: Path, cache: CacheDir) -> None:
    trainer = build_training(corridor_config(tmp_path), cache, StopRequest()).trainer
    for _ in range(3):
        trainer.make_update()
        assert trainer.last_stats is not None
        assert trainer.last_stats.policy_lag == 0
        assert trainer.last_stats.first_log_rho_max < 1e-5
    trainer.parts.close()


def test_groups_share_the_environments() -> None:
    def sizes(num_envs: int, **collector: int) -> list[int]:
        return group_sizes(
            TrainingConfig(
                vector_env=MarioVectorEnvConfig(num_envs=num_envs),
                collector=CollectorConfig(overlap_collect=True, **collector),
            )
        )

    assert sizes(512) == [256, 256]
    assert sizes(7, env_groups=3) == [3, 2, 2]
    with pytest.raises(ConfigError, match="--env-groups 5"):
        sizes(4, env_groups=5)
    assert group_sizes(TrainingConfig(vector_env=MarioVectorEnvConfig(num_envs=7))) == [7]
