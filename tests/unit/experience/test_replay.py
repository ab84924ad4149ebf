"""What is drawn, how often, and that it is what was stored."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mario_a3c.cli.console_log import PrefixFormatter
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.priorities import Priorities, draw_by_prefix_sum
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout, RolloutShape
from tests.support.gpu import on_gpu

SHAPE = RolloutShape(num_steps=5, num_envs=4, frame_stack=2, height=6, width=6)


def random_rollout(seed: int, shape: RolloutShape = SHAPE) -> Rollout:
    generator = torch.Generator().manual_seed(seed)
    rollout = Rollout.empty(shape, state={"hidden": torch.zeros(shape.num_envs, 3)})
    rollout.frames.random_(0, 256, generator=generator)
    rollout.actions.random_(0, 7, generator=generator)
    rollout.episode_starts.copy_(torch.rand(rollout.episode_starts.shape, generator=generator) < 0.2)
    for name in ("log_probs", "values", "rewards", "advantages", "target_values"):
        getattr(rollout, name).normal_(generator=generator)
    rollout.state["hidden"].normal_(generator=generator)
    return rollout


def make_replay(shape: RolloutShape = SHAPE, *, seed: int = 0, **options: Any) -> PrioritizedReplay:
    config = ReplayConfig(**{"per": True, "per_capacity": 12, "per_batch": 6, **options})
    example = {"hidden": torch.zeros(shape.num_envs, 3)}
    return PrioritizedReplay(config, shape, total_updates=100, state=example, seed=seed)


def divergence(counts: np.ndarray[Any, Any], probabilities: np.ndarray[Any, Any]) -> float:
    """Of measured frequencies from expected ones, in nats."""
    frequencies = counts / counts.sum()
    seen = frequencies > 0
    return float((frequencies[seen] * np.log(frequencies[seen] / probabilities[seen])).sum())


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_frequencies_follow_priority_to_the_power_of_alpha(alpha: float) -> None:
    rng = np.random.default_rng(3)
    wanted = rng.uniform(0.05, 5.0, 200)
    priorities = Priorities(256, alpha, torch.device("cpu"), seed=1)
    priorities.set(torch.arange(200), torch.tensor(wanted))
    num_draws, batch = 4000, 64
    counts = np.zeros(256)
    for _ in range(num_draws):
        places, probabilities = priorities.draw(batch)
        np.add.at(counts, places.numpy(), 1)
    assert counts[200:].sum() == 0  # nothing lies there
    expected = (wanted + 1e-3) ** alpha
    expected /= expected.sum()
    chi_square = ((counts[:200] - num_draws * batch * expected) ** 2 / (num_draws * batch * expected)).sum()
    # Stratified draws vary less than independent ones, for which 199 + 5 sqrt(398) would be five deviations.
    assert chi_square < 299
    assert divergence(counts[:200], expected) < 1e-3
    np.testing.assert_allclose(probabilities.numpy(), expected[places.numpy()], rtol=1e-5)


def test_the_test_of_frequencies_notices_a_wrong_exponent() -> None:
    rng = np.random.default_rng(3)
    wanted = rng.uniform(0.05, 5.0, 200)
    priorities = Priorities(200, 0.5, torch.device("cpu"), seed=1)
    priorities.set(torch.arange(200), torch.tensor(wanted))
    counts = np.bincount(torch.cat([priorities.draw(32)[0] for _ in range(2000)]).numpy(), minlength=200)
    expected = wanted**0.6 / (wanted**0.6).sum()
    assert ((counts - 64000 * expected) ** 2 / (64000 * expected)).sum() > 299


def test_extreme_points_fall_on_places_that_hold_something() -> None:
    weights = torch.zeros(100_000)
    weights[10:50_000] = torch.rand(49_990, generator=torch.Generator().manual_seed(0))
    points = torch.tensor([0.0, 1e-12, 0.5, 1 - 1e-12, 1.0], dtype=torch.float64)
    places, probabilities = draw_by_prefix_sum(weights, points)
    assert (weights[places] > 0).all()
    assert (probabilities > 0).all()
    assert places.tolist() == sorted(places.tolist())


def test_a_priority_that_is_not_a_number_spoils_nothing() -> None:
    priorities = Priorities(4, 1.0, torch.device("cpu"), seed=0)
    priorities.set(torch.arange(4), torch.tensor([1.0, float("nan"), float("inf"), 1.0]))
    places, probabilities = priorities.draw(64)
    assert torch.isfinite(probabilities).all()
    assert set(places.tolist()) == {0, 1, 2, 3}


def test_a_sample_is_what_was_stored_with_its_memory_and_probabilities() -> None:
    replay, rollouts = make_replay(), [random_rollout(seed) for seed in range(3)]
    for rollout in rollouts:
        replay.push(rollout)
    sample = replay.sample()
    for column, place in enumerate(sample.indices.tolist()):
        original, env = rollouts[place // 4], place % 4
        assert torch.equal(sample.rollout.observations()[:, column], original.observations()[:, env])
        for name in ("actions", "log_probs", "rewards", "terminated", "truncated", "truncation_values", "values"):
            assert torch.equal(getattr(sample.rollout, name)[:, column], getattr(original, name)[:, env]), name
        assert torch.equal(sample.rollout.state["hidden"][column], original.state["hidden"][env])
        torch.testing.assert_close(
            sample.rollout.advantages[:, column], original.advantages[:, env], rtol=1e-3, atol=1e-3
        )
    assert sample.rollout.advantages.dtype == torch.float32


def test_the_documented_view_of_a_sample() -> None:
    replay = make_replay()
    replay.push(random_rollout(0))
    replay.push(random_rollout(1))
    sample = replay.sample()
    assert sample.obs.shape == (6 * 5, 2, 6, 6)
    assert sample.obs.dtype == torch.uint8
    for view in (sample.action, sample.target_value, sample.advantage):
        assert view.shape == (6 * 5,)
    assert sample.weights.shape == sample.indices.shape == (6,)
    torch.testing.assert_close(sample.action[:5], sample.rollout.actions[:, 0])
    assert torch.equal(sample.obs[7], sample.rollout.observation(2)[1])


def test_importance_weights_undo_the_preference() -> None:
    replay = make_replay(per_alpha=1.0, per_beta=1.0)
    for seed in range(3):
        replay.push(random_rollout(seed))
    sample = replay.sample()
    powers = replay._priorities.powers
    expected = (12 * powers[sample.indices] / powers.sum()) ** -1
    torch.testing.assert_close(sample.weights, expected / expected.max(), rtol=1e-4, atol=1e-6)
    assert sample.weights.max() == 1


@pytest.mark.parametrize("interval", [1, 3, 7])
def test_every_step_is_stored_whatever_the_interval_of_sampling(interval: int) -> None:
    replay = make_replay(per_sample_interval=interval)
    num_samples = 0
    for update in range(14):
        num_samples += replay.sample_if_due() is not None
        replay.push(random_rollout(update))
    assert replay.stats()["replay_push_total"] == 14 * SHAPE.num_steps * SHAPE.num_envs
    assert num_samples == len([u for u in range(2, 14) if u % interval == 0])  # the first two leave too little
    assert replay.stats()["replay_fill_rate"] == 1.0


@pytest.mark.parametrize(("is_on", "dtype"), [("1", torch.float16), ("0", torch.float32)])
def test_scalars_are_halved_unless_somebody_says_no(
    is_on: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARIO_PER_FP16_SCALARS", is_on)
    replay = make_replay()
    assert replay._store["advantages"].dtype == replay._store["target_values"].dtype == dtype
    assert replay._store["log_probs"].dtype == torch.float32
    assert replay._store["frames"].dtype == torch.uint8
    rollout = random_rollout(0)
    rollout.advantages[0, 0] = 1e6  # beyond what half precision holds
    replay.push(rollout)
    assert torch.isfinite(replay._store["advantages"][:4]).all()


def test_a_memory_cap_is_kept_and_too_small_a_one_names_what_would_do() -> None:
    per_sequence = make_replay().bytes_per_sequence
    replay = make_replay(per_capacity=1000, per_memory_gb=20.5 * per_sequence / (1 << 30))
    assert replay.capacity == 20
    assert sum(each.nbytes for each in replay._store.values()) <= 20.5 * per_sequence
    with pytest.raises(ConfigError, match="--per-memory-gb"):
        make_replay(per_memory_gb=3 * per_sequence / (1 << 30))


def test_prefetching_gives_the_samples_that_waiting_would_give() -> None:
    samples = {}
    for prefetch in (True, False):
        replay = make_replay(per_prefetch=prefetch)
        drawn = []
        for update in range(8):
            sample = replay.sample_if_due()
            if sample is not None:
                drawn.append((sample.indices.tolist(), sample.rollout.frames.sum().item(), sample.weights.tolist()))
            replay.push(random_rollout(update))
            if sample is not None:
                sample.rollout.advantages.fill_(update)
                replay.update_priorities(sample)
            replay.prefetch()
        samples[prefetch] = drawn
        replay.close()
    assert len(samples[True]) == 6
    assert samples[True] == samples[False]


def test_new_priorities_leave_alone_what_was_overwritten_meanwhile() -> None:
    replay = make_replay(per_capacity=8)
    replay.push(random_rollout(0))
    replay.push(random_rollout(1))
    sample = replay.sample()
    replay.push(random_rollout(2))  # over the first four places
    before = replay._priorities.powers.clone()
    sample.rollout.advantages.fill_(100.0)
    replay.update_priorities(sample)
    changed = (replay._priorities.powers != before).nonzero().flatten().tolist()
    assert changed == sorted({place for place in sample.indices.tolist() if place >= 4})
    assert changed


def test_stats_and_their_log_line(caplog: pytest.LogCaptureFixture) -> None:
    replay = make_replay(per_alpha=1.0)
    rollout = random_rollout(0)
    rollout.advantages.fill_(0.0)
    rollout.advantages[:, 2] = 1e4  # nearly everything falls on one place
    replay.push(rollout)
    with pytest.raises(ValueError, match=r"6 sequences .* 4 are there"):
        replay.sample()
    replay.push(rollout)
    sample = replay.sample()
    stats = replay.stats()
    assert stats["replay_last_unique_ratio"] == pytest.approx(len(set(sample.indices.tolist())) / 6)
    assert stats["avg_sample_unique_ratio"] == stats["replay_avg_unique_ratio"] == stats["replay_last_unique_ratio"]
    assert stats["replay_fill_rate"] == pytest.approx(8 / 12)
    with caplog.at_level(logging.INFO, "mario"):
        replay.log_stats()
    unique = f"{100 * stats['replay_last_unique_ratio']:.1f}%"
    line = PrefixFormatter().format(caplog.records[-1])
    assert line == f"[replay][stat] fill=66.7% unique={unique} avg_unique={unique}"


def test_a_restored_replay_draws_what_the_saved_one_would_have_drawn() -> None:
    replay = make_replay(per_save=True)
    for seed in range(4):
        replay.push(random_rollout(seed))
    replay.sample()
    saved = replay.state()
    other = make_replay(per_save=True)
    other.restore(saved)
    for _ in range(3):
        ours, theirs = replay.sample(), other.sample()
        assert ours.indices.tolist() == theirs.indices.tolist()
        assert torch.equal(ours.weights, theirs.weights)
        assert torch.equal(ours.rollout.frames, theirs.rollout.frames)
    with pytest.raises(CheckpointError, match="room for 12 sequences, this run has 16"):
        make_replay(per_capacity=16).restore(saved)


def test_a_replay_that_was_left_out_says_so_and_starts_empty(caplog: pytest.LogCaptureFixture) -> None:
    replay = make_replay()
    replay.push(random_rollout(0))
    other = make_replay()
    other.restore(replay.state())
    assert "holds no replayed sequences" in caplog.text
    assert len(other) == 0
    assert other.stats()["replay_push_total"] == 20


def test_settings_that_leave_nothing_to_learn_are_refused() -> None:
    with pytest.raises(ConfigError, match="--per-burn-in 5"):
        make_replay(per_burn_in=5)
    with pytest.raises(ConfigError, match="--per-alpha"):
        ReplayConfig(per_alpha=1.5)
    with pytest.raises(ConfigError, match="--per-sample-interval"):
        ReplayConfig(per_sample_interval=0)


@on_gpu
def test_a_gpu_draws_the_same_places(measured: Callable[[str, float, float], None]) -> None:
    wanted = torch.rand(100_000, generator=torch.Generator().manual_seed(5))
    draws = {}
    for device in ("cpu", "cuda"):
        priorities = Priorities(100_000, 0.6, torch.device(device), seed=2)
        priorities.set(torch.arange(100_000, device=device), wanted.to(device))
        draws[device] = torch.cat([priorities.draw(1024)[0].cpu() for _ in range(500)])
    measured(
        "replay, places that differ between CPU and GPU", float((draws["cpu"] != draws["cuda"]).double().mean()), 1e-3
    )
    counts = {device: np.bincount(each.numpy() // 1000, minlength=100) for device, each in draws.items()}
    measured("replay, KL of draws", divergence(counts["cuda"], counts["cpu"] / counts["cpu"].sum()), 1e-3)
