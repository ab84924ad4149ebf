"""From the trainer's parts to a record of the metrics: only reads, draws nothing, changes nothing."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.experience.replay import PrioritizedReplay
from mario_a3c.experience.rollout import Rollout
from mario_a3c.learning.stats import UpdateStats
from mario_a3c.metrics.reader import last_record
from mario_a3c.metrics.schema import Record
from mario_a3c.native.start_states import STAGES_PER_WORLD
from mario_a3c.training.progress import EpisodeWindow, Progress
from mario_a3c.training.timing import Shares

_AVERAGED = (
    "loss_total", "loss_policy", "loss_value", "loss_replay", "entropy", "kl", "clip_fraction", "rho_mean",
    "first_log_rho_max", "explained_variance", "advantage_std", "teacher_kl", "grad_norm", "policy_lag",
)  # fmt: skip
_PERCENTILES = (50, 90, 99)
END_REASONS = {reason.value: str(reason) or "none" for reason in EndReason}


def learning_fields(updates: Sequence[UpdateStats]) -> Record:
    """Means over some updates, of what is finite; of schedules and counters the last."""
    last = updates[-1]
    return {
        **{name: _mean(getattr(each, name) for each in updates) for name in _AVERAGED},
        "learning_rate": last.learning_rate,
        "entropy_beta": last.entropy_beta,
        "floor_beta": last.floor_beta,
        "teacher_beta": last.teacher_beta,
        "gamma": last.gamma,
        "optimizer_steps": sum(each.num_optimizer_steps for each in updates),
        "skipped_steps": sum(each.num_skipped_steps for each in updates),
        "rollbacks_total": last.num_rollbacks,
        "num_pieces": last.num_pieces,
        "policy_lag_max": max(each.policy_lag for each in updates),
    }


def episode_fields(progress: Progress) -> Record:
    fields = {"episodes_total": progress.num_episodes, "clears_total": progress.num_clears}
    if not progress.num_episodes:
        return fields
    return {
        **fields,
        **_of_window(progress.recent),
        "avg_return": progress.avg_return,
        "clear_rate": progress.clear_rate,
        "clear_rate_by_stage": _by_stage(progress.clear_rate_by_level),
        "power_up_rate_by_stage": _by_stage(progress.power_up_rate_by_level),
        "furthest_progress": progress.furthest,
    }


def speed_fields(shares: Shares, num_updates: int, num_steps: int, frame_skip: int) -> Record:
    steps_per_second = num_steps / shares.seconds
    return {
        "env_steps_per_sec": steps_per_second,
        "env_fps": steps_per_second * frame_skip,
        "updates_per_sec": num_updates / shares.seconds,
        "share_consoles": shares.consoles,
        "share_acting": shares.acting,
        "share_collect": shares.consoles + shares.acting,
        "share_learn": shares.learning,
        "share_wait": shares.waiting,
    }


def replay_fields(replay: PrioritizedReplay | None, rollout: Rollout | None) -> Record:
    if replay is None or rollout is None:
        return {}
    errors = rollout.advantages.detach().abs().flatten().float()
    percentiles = torch.tensor([each / 100 for each in _PERCENTILES], device=errors.device)
    names = (f"td_error_p{each}" for each in _PERCENTILES)
    return {**replay.stats(), **dict(zip(names, torch.quantile(errors, percentiles).tolist(), strict=True))}


class NewestEvaluation:
    """What the last line of `evaluations.jsonl` says, read when the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path, self._changed, self._fields = path, 0.0, Record()

    def newest(self) -> Record:
        try:
            changed = self._path.stat().st_mtime
        except OSError:
            return self._fields  # there was none yet
        if changed != self._changed:
            record = last_record(self._path) or {}
            self._changed = changed
            self._fields = {"eval_clear_rate": record.get("clear_rate"), "eval_update": record.get("update")}
        return self._fields


def detail_of(record: Record) -> str:
    """What `--verbose` shows beside the progress lines."""
    names = (
        "loss_total",
        "entropy",
        "kl",
        "explained_variance",
        "grad_norm",
        "learning_rate",
        "policy_lag",
        "memory_mb",
    )
    return " ".join(f"{name}={record[name]:.4g}" for name in names if record[name] is not None)


def stage_name(level: int) -> str:
    return f"{level // STAGES_PER_WORLD + 1}-{level % STAGES_PER_WORLD + 1}"


def _by_stage(by_level: Mapping[int, float]) -> dict[str, float]:
    return {stage_name(level): number for level, number in by_level.items()}


def _of_window(window: EpisodeWindow) -> Record:
    episodes = window.episodes
    returns = np.percentile(episodes["total_reward"].astype(np.float64), _PERCENTILES).tolist()
    reasons, counts = np.unique(episodes["end_reason"], return_counts=True)
    return {
        **{f"recent_return_p{each}": number for each, number in zip(_PERCENTILES, returns, strict=True)},
        "episode_length_mean": float(episodes["num_steps"].mean(dtype=np.float64)),
        "episode_length_p90": float(np.percentile(episodes["num_steps"], 90)),
        "progress_mean": float(episodes["progress"].mean(dtype=np.float64)),
        "power_ups_mean": float(episodes["num_power_ups"].mean()),
        "end_shares": {
            END_REASONS[reason]: count / len(episodes)
            for reason, count in zip(reasons.tolist(), counts.tolist(), strict=True)
        },
    }


def _mean(numbers: Iterable[float | None]) -> float | None:
    finite = [number for number in numbers if number is not None and math.isfinite(number)]
    return sum(finite) / len(finite) if finite else None
