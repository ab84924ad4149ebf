"""`--asymmetric-critic`: what a run is built of then, and how it goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.models.ram_critic import RamCritic
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.console import RAM_BYTES
from mario_a3c.training import build, resuming
from mario_a3c.training.build import build_training
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopRequest
from tests.support.checkpoints import NAMES
from tests.support.runs import ROLLOUT, SHORT, corridor_config, digest_of, resumed
from tests.support.tasks import Lottery


def asymmetric(config: TrainingConfig, **settings: Any) -> TrainingConfig:
    return replace(config, learner=replace(config.learner, asymmetric_critic=True), **settings)


@pytest.fixture
def lottery(corridor_saved_often: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are about the lottery, whose memory is small."""

    def make_envs(config: TrainingConfig, *_: Any) -> list[EnvBatch]:
        groups = build.group_sizes(config)
        return [Lottery(size, seed=sum(groups[:index])) for index, size in enumerate(groups)]

    monkeypatch.setattr(build, "make_envs", make_envs)
    monkeypatch.setattr(build, "RAM_BYTES", Lottery.RAM_BYTES)
    monkeypatch.setattr(build, "Surroundings", lambda: None)


def test_a_game_is_learned_with_the_memory_of_its_consoles(tmp_path: Path, cache: CacheDir, tiny_game: Path) -> None:
    config = asymmetric(
        corridor_config(tmp_path, collector=CollectorConfig(rollout_steps=3)),
        vector_env=MarioVectorEnvConfig(num_envs=2, env=MarioEnvConfig(frame_stack=2)),
        engine=EngineConfig(engine="interpreter"),
        rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
    )
    parts = build_training(config, cache, StopRequest()).trainer.parts
    critic = parts.learner._ram_critic
    assert critic is not None
    assert critic.read.in_features == 8 * RAM_BYTES
    assert critic.see.in_features == parts.learner.model.memory.output_size
    rollout = parts.collector.next_rollout()
    assert rollout.ram.shape == (4, 2, RAM_BYTES)
    assert (rollout.ram[1:] != rollout.ram[:-1]).any(dim=2).all()
    parts.learner.update(rollout)
    assert critic.judge.weight.any()
    parts.close()


@pytest.mark.parametrize("overlap_collect", [False, True])
def test_rollouts_and_replay_hold_the_memory(
    tmp_path: Path, cache: CacheDir, lottery: None, overlap_collect: bool
) -> None:
    config = asymmetric(
        corridor_config(tmp_path, collector=CollectorConfig(rollout_steps=4, overlap_collect=overlap_collect)),
        replay=ReplayConfig(per=True, per_capacity=32, per_batch=4),
    )
    trainer = build_training(config, cache, StopRequest()).trainer
    for _ in range(3):
        trainer.make_update()
        assert trainer.last_stats is not None
        assert trainer.last_stats.num_skipped_steps == 0
    assert trainer.last_stats is not None
    assert trainer.last_stats.loss_replay is not None
    parts = trainer.parts
    assert parts.replay is not None
    sample = parts.replay.sample()
    assert sample.rollout.ram.shape == (5, 4, Lottery.RAM_BYTES)
    assert set(sample.rollout.ram[:, :, 1].flatten().tolist()) == set(range(Lottery(1).length))
    parts.close()


@pytest.mark.usefixtures("corridor")
def test_unless_it_is_asked_for_nobody_looks_into_a_console(tmp_path: Path, cache: CacheDir) -> None:
    parts = build_training(corridor_config(tmp_path), cache, StopRequest()).trainer.parts
    assert parts.learner._ram_critic is None
    assert parts.collector.next_rollout().ram.numel() == 0
    assert "ram_critic" not in parts.learner.state()
    parts.close()


def test_the_seed_draws_the_critic_and_disturbs_no_other_draw(tmp_path: Path, cache: CacheDir, lottery: None) -> None:
    def weights(config: TrainingConfig) -> tuple[RamCritic | None, torch.Tensor, torch.Tensor]:
        torch.manual_seed(1)
        parts = build_training(config, cache, StopRequest()).trainer.parts
        parts.close()
        return parts.learner._ram_critic, next(parts.learner.model.parameters()), torch.rand(3)

    plain = corridor_config(tmp_path)
    seeded = replace(plain, vector_env=replace(plain.vector_env, seed=9))
    critics = []
    for config in (plain, plain, seeded):
        critic, network, drawn = weights(asymmetric(config))
        _, network_without, drawn_without = weights(config)
        assert torch.equal(network, network_without)
        assert torch.equal(drawn, drawn_without)
        assert critic is not None
        critics.append(critic.read.weight)
    assert torch.equal(critics[0], critics[1])
    assert not torch.equal(critics[0], critics[2])


def test_environments_without_memory_are_refused(tmp_path: Path, cache: CacheDir, corridor: None) -> None:
    with pytest.raises(ConfigError, match=r"--asymmetric-critic .* --vectorization native"):
        build_training(asymmetric(corridor_config(tmp_path)), cache, StopRequest())


# Going on.


def lottery_config(folder: Path, num_updates: int) -> TrainingConfig:
    return corridor_config(folder, collector=SHORT, total_updates=20, max_steps=num_updates * ROLLOUT)


def learner_state(folder: Path) -> Any:
    return load_checkpoint(NAMES.latest(folder / "runs")).state["learner"]


@pytest.mark.usefixtures("lottery")
def test_a_resumed_run_is_the_one_that_never_stopped(tmp_path: Path) -> None:
    run_training(asymmetric(lottery_config(tmp_path / "whole", 3)))
    first = asymmetric(lottery_config(tmp_path / "parts", 2))
    run_training(first)
    budget = replace(first.budget, max_steps=3 * ROLLOUT)
    assert run_training(replace(first, budget=budget)).num_updates == 3
    whole, parts = (learner_state(tmp_path / each) for each in ("whole", "parts"))
    assert whole["ram_critic"]["judge.weight"].any()
    assert digest_of(whole) == digest_of(parts)


@pytest.mark.usefixtures("lottery")
@pytest.mark.parametrize("is_first", [True, False])
def test_it_cannot_be_switched_within_a_run(tmp_path: Path, is_first: bool) -> None:
    plain = lottery_config(tmp_path, 2)
    before, after = (asymmetric(plain), plain) if is_first else (plain, asymmetric(plain))
    run_training(before)
    said = f"learner.asymmetric_critic was {is_first}, is {not is_first}"
    with pytest.raises(ConfigError, match=f"cannot change within a run: {said}"):
        run_training(resumed(after))


@pytest.mark.usefixtures("lottery")
def test_a_checkpoint_that_knows_of_no_such_setting_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of an earlier version: no setting differs, and there is no critic in it."""
    plain = lottery_config(tmp_path, 2)
    run_training(plain)
    monkeypatch.setattr(resuming, "changes", lambda *_: {})
    with pytest.raises(CheckpointError, match=r"ram_critic|critic of the console's memory"):
        run_training(resumed(asymmetric(plain)))


@pytest.mark.usefixtures("lottery")
@pytest.mark.parametrize("is_first", [True, False])
def test_weights_begin_a_run_with_the_critic_or_without_it(
    tmp_path: Path, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them they come from: the critic is no part of the agent."""
    plain = lottery_config(tmp_path, 1)
    before, after = (asymmetric(plain), plain) if is_first else (plain, asymmetric(plain))
    run_training(before)
    run = replace(after.run, run_name="second", init_from=plain.run.save_dir / "corridor")
    begun: list[Any] = []
    make_ram_critic = build.make_ram_critic

    def note_weights(config: TrainingConfig, execution: Any, model: Any) -> RamCritic | None:
        begun.append({name: each.detach().clone() for name, each in model.named_parameters()})
        return make_ram_critic(config, execution, model)

    monkeypatch.setattr(build, "make_ram_critic", note_weights)
    saved = load_checkpoint(NAMES.latest(plain.run.save_dir / "corridor")).state["learner"]["model"]
    run_training(replace(after, run=replace(run, init_weights="last")))
    assert digest_of(begun[0]) == digest_of(saved)
    learned = load_checkpoint(NAMES.latest(plain.run.save_dir / "second")).state["learner"]
    assert ("ram_critic" in learned) != is_first
