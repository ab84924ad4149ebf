"""Prioritized replay of sequences (Schaul et al. 2016; Kapturowski et al. 2019)."""

import logging
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.experience.priorities import Priorities
from mario_a3c.experience.rollout import TENSORS, MemoryState, Rollout, RolloutShape
from mario_a3c.experience.sample import ReplaySample
from mario_a3c.stateful import State

LOG = logging.getLogger("mario.replay")
STAT_LOG = logging.getLogger("mario.replay.stat")

_HALVED = ("advantages", "target_values")
_MOST_HALF = 65504.0
_GIGABYTE = 1 << 30


class PrioritizedReplay:
    """Keeps the last sequences with the memory they began with and the probabilities of what was done.

    Priorities lie on the learner's device and are drawn from there. One thread uses it; another one of its own fetches
    the next sample, which it gives back before anything is overwritten.
    """

    def __init__(
        self,
        config: ReplayConfig,
        shape: RolloutShape,
        *,
        total_updates: int,
        state: MemoryState | None = None,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        """`state` shows what the memory's state looks like, [N, ...]."""
        if config.per_burn_in >= shape.num_steps:
            raise ConfigError(
                f"--per-burn-in {config.per_burn_in} leaves nothing of --rollout-steps {shape.num_steps} to learn from"
            )
        self.config, self._total_updates = config, total_updates
        self.device = torch.device(device)
        half = config.per_fp16_scalars and os.environ.get("MARIO_PER_FP16_SCALARS") != "0"
        rows = _rows(Rollout.empty(shape._replace(num_envs=1), state=_first(state)), torch.float16 if half else None)
        self.bytes_per_sequence = sum(row.nbytes for row in rows.values())
        self.capacity = _capacity(config, self.bytes_per_sequence, shape.num_envs)
        storage = _storage_device(config, self.capacity * self.bytes_per_sequence, self.device)
        self._store = {
            name: torch.empty(self.capacity, *row.shape[1:], dtype=row.dtype, device=storage)
            for name, row in rows.items()
        }
        self._priorities = Priorities(self.capacity, config.per_alpha, self.device, seed)
        self._generations = torch.zeros(self.capacity, dtype=torch.int64, device=self.device)
        self._num_sequences = self._push_total = self._num_updates = self._num_samples = 0
        self._last_unique = self._sum_unique = torch.zeros((), device=self.device)
        self._fetcher = ThreadPoolExecutor(1, thread_name_prefix="replay-fetch")
        self._fetched: Future[ReplaySample] | None = None

    def __len__(self) -> int:
        """Sequences in it."""
        return min(self._num_sequences, self.capacity)

    def push(self, rollout: Rollout) -> None:
        """Keeps every sequence of a rollout that was learned from; its priority comes from its advantages."""
        self._wait()
        count = rollout.num_envs
        places = (self._num_sequences + torch.arange(count)) % self.capacity
        for name, rows in _rows(rollout, self._store["advantages"].dtype).items():
            store = self._store[name]
            store[places.to(store.device)] = rows.to(store.device)
        places = places.to(self.device)
        self._generations[places] += 1
        self._priorities.set(places, self._priorities_of(rollout.advantages.to(self.device)))
        self._num_sequences += count
        self._push_total += rollout.actions.numel()
        self._num_updates += 1

    def sample_if_due(self) -> ReplaySample | None:
        """A sample at every `per_sample_interval`-th update, once there are enough sequences for one."""
        is_due = self._num_updates % self.config.per_sample_interval == 0
        return self.sample() if is_due and len(self) >= self.config.per_batch else None

    def sample(self) -> ReplaySample:
        """Draws by priority; on the learner's device."""
        fetched, self._fetched = self._fetched, None
        return self._fetch(*self._draw()) if fetched is None else fetched.result()

    def prefetch(self) -> None:
        """Begins to fetch the next sample, if the next update wants one. The same sample as without prefetching."""
        is_due = self._num_updates % self.config.per_sample_interval == 0
        if self.config.per_prefetch and self._fetched is None and is_due and len(self) >= self.config.per_batch:
            self._fetched = self._fetcher.submit(self._fetch, *self._draw())

    def update_priorities(self, sample: ReplaySample) -> None:
        """After learning from a sample, whose `advantages` were written. What was overwritten since is left alone."""
        is_same = self._generations[sample.indices] == sample.generations
        advantages = sample.rollout.advantages[sample.burn_in :]
        self._priorities.set(sample.indices, self._priorities_of(advantages), where=is_same)

    def stats(self) -> dict[str, float]:
        """For the metrics: how full it is, how many different sequences a sample has, how many steps were stored."""
        average = float(self._sum_unique) / max(1, self._num_samples)
        return {
            "replay_fill_rate": len(self) / self.capacity,
            "replay_last_unique_ratio": float(self._last_unique),
            "replay_avg_unique_ratio": average,
            "avg_sample_unique_ratio": average,
            "replay_push_total": self._push_total,
        }

    def log_stats(self) -> None:
        """`[replay][stat] fill=12.5% unique=100.0% avg_unique=98.7%`"""
        stats = self.stats()
        STAT_LOG.info(
            "fill=%.1f%% unique=%.1f%% avg_unique=%.1f%%",
            100 * stats["replay_fill_rate"],
            100 * stats["replay_last_unique_ratio"],
            100 * stats["replay_avg_unique_ratio"],
        )

    def state(self) -> State:
        """With `--per-save` everything; without, counters and the note that the sequences were left out."""
        self._wait()
        saved: dict[str, object] = {
            "push_total": self._push_total,
            "num_updates": self._num_updates,
            # What was fetched and not yet asked for is drawn again.
            "num_draws": self._priorities.num_draws - (self._fetched is not None),
            "is_left_out": not self.config.per_save,
        }
        if self.config.per_save:
            filled = {name: each[: len(self)].clone() for name, each in self._store.items()}
            saved |= {"store": filled, "num_sequences": self._num_sequences, "generations": self._generations.clone()}
            saved |= {"powers": self._priorities.powers.clone()}
        return saved

    def restore(self, state: State) -> None:
        self._wait()
        self._fetched = None
        self._push_total, self._num_updates = state["push_total"], state["num_updates"]
        self._priorities.num_draws = state["num_draws"]
        if state["is_left_out"]:
            LOG.warning("the checkpoint holds no replayed sequences (--per-save writes them): replay starts empty")
            return
        if len(state["generations"]) != self.capacity:
            raise CheckpointError(
                f"replay was saved with room for {len(state['generations'])} sequences, this run has {self.capacity}; "
                "resume with the same --per-capacity and --per-memory-gb"
            )
        self._num_sequences = state["num_sequences"]
        for name, each in self._store.items():
            if name == "stuck" and name not in state["store"]:
                continue  # earlier checkpoints do not know of stuck steps
            each[: len(self)] = state["store"][name].to(each.device)
        self._generations.copy_(state["generations"])
        self._priorities.powers.copy_(state["powers"])

    def close(self) -> None:
        self._fetcher.shutdown()

    def _draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Places, their importance weights, and their generations."""
        count = self.config.per_batch
        if len(self) < count:
            raise ValueError(f"a sample of {count} sequences was asked for, and {len(self)} are there")
        places, probabilities = self._priorities.draw(count)
        weights = (len(self) * probabilities) ** -self._beta()
        unique = ((places.diff() != 0).sum() + 1) / count
        self._last_unique, self._sum_unique = unique, self._sum_unique + unique
        self._num_samples += 1
        return places, (weights / weights.max()).float(), self._generations[places]

    def _fetch(self, places: Tensor, weights: Tensor, generations: Tensor) -> ReplaySample:
        rows = {name: each[places.to(each.device)].to(self.device) for name, each in self._store.items()}
        return ReplaySample(_rollout(rows), weights, places, generations, self.config.per_burn_in)

    def _wait(self) -> None:
        """Until what is being fetched is no longer read from the store."""
        if self._fetched is not None:
            self._fetched.exception()

    def _beta(self) -> float:
        share = min(1.0, self._num_updates / max(1, self._total_updates))
        return self.config.per_beta + (1 - self.config.per_beta) * share

    def _priorities_of(self, advantages: Tensor) -> Tensor:
        """[T, N] -> [N]: mostly the largest, so that one surprise in a long sequence counts (R2D2)."""
        sizes = advantages.abs()
        share = self.config.per_max_share
        return share * sizes.amax(0) + (1 - share) * sizes.mean(0)


def _rows(rollout: Rollout, scalar_type: torch.dtype | None) -> dict[str, Tensor]:
    """A rollout as it is stored, sequence by sequence: [N, T, ...] and memory's [N, ...]."""
    rows = {name: getattr(rollout, name).transpose(0, 1) for name in TENSORS}
    if scalar_type is not None:
        rows |= {name: rows[name].clamp(-_MOST_HALF, _MOST_HALF).to(scalar_type) for name in _HALVED}
    return rows | {f"state.{name}": each for name, each in rollout.state.items()}


def _rollout(rows: Mapping[str, Tensor]) -> Rollout:
    tensors = {name: rows[name].transpose(0, 1) for name in TENSORS}
    tensors |= {name: tensors[name].float() for name in _HALVED}
    state = {name.removeprefix("state."): each for name, each in rows.items() if name.startswith("state.")}
    return Rollout(**tensors, state=state, weights_version=-1, episodes=np.zeros(0))


def _first(state: MemoryState | None) -> MemoryState:
    return {name: each[:1] for name, each in (state or {}).items()}


def _capacity(config: ReplayConfig, bytes_per_sequence: int, num_envs: int) -> int:
    capacity = config.per_capacity
    if config.per_memory_gb:
        capacity = min(capacity, int(config.per_memory_gb * _GIGABYTE / bytes_per_sequence))
    needed = max(num_envs, config.per_batch)
    if capacity < needed:
        raise ConfigError(
            f"replay has room for {capacity} sequences of {bytes_per_sequence} bytes, but a rollout or a sample has "
            f"{needed}; raise --per-capacity or --per-memory-gb (to {needed * bytes_per_sequence / _GIGABYTE:.2f})"
        )
    return capacity


def _storage_device(config: ReplayConfig, num_bytes: int, device: torch.device) -> torch.device:
    if config.per_storage == "host" or device.type == "cpu":
        return torch.device("cpu")
    free, _ = torch.cuda.mem_get_info(device)
    return device if config.per_storage == "device" or 2 * num_bytes < free else torch.device("cpu")
