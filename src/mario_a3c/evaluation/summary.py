"""From episodes to rates, with how sure they are."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from mario_a3c.evaluation.config import CLEAR_RATE, JUDGED_EPISODES, JUDGED_MODES, Mode
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.native.start_states import Stage

_Z = 1.959963984540054  # 95 % of a normal distribution lie within


def wilson_interval(num_successes: int, num_trials: int, z: float = _Z) -> tuple[float, float]:
    """Where the true rate lies with 95 % confidence (Wilson 1927): right also for few trials and rates near 0 or 1."""
    if not 0 <= num_successes <= num_trials or num_trials < 1:
        raise ValueError(f"{num_successes} successes of {num_trials} trials is not possible")
    rate, square = num_successes / num_trials, z * z / num_trials
    centre = (rate + square / 2) / (1 + square)
    margin = z / (1 + square) * math.sqrt(rate * (1 - rate) / num_trials + square / (4 * num_trials))
    return max(0.0, centre - margin), min(1.0, centre + margin)


@dataclass(frozen=True, slots=True)
class Summary:
    """Of all episodes of one stage and mode."""

    stage: str
    mode: Mode
    num_episodes: int
    num_clears: int
    clear_rate: float
    clear_rate_low: float  # Wilson's interval; greedy play is always the same, and has none
    clear_rate_high: float
    mean_return: float
    mean_progress: float
    median_steps: float
    end_reasons: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def summarize(results: Iterable[EpisodeResult]) -> list[Summary]:
    """One for each stage and mode, in the order in which they come."""
    groups: dict[tuple[Stage, Mode], list[EpisodeResult]] = {}
    for result in results:
        groups.setdefault((result.spec.stage, result.spec.mode), []).append(result)
    return [_summarize_one(stage, mode, group) for (stage, mode), group in groups.items()]


def _summarize_one(stage: Stage, mode: Mode, group: Sequence[EpisodeResult]) -> Summary:
    num_clears = sum(result.is_clear for result in group)
    low, high = wilson_interval(num_clears, len(group))
    if mode == "greedy":  # one trajectory: repeating it makes nothing surer
        low = high = num_clears / len(group)
    return Summary(
        stage=str(stage),
        mode=mode,
        num_episodes=len(group),
        num_clears=num_clears,
        clear_rate=num_clears / len(group),
        clear_rate_low=low,
        clear_rate_high=high,
        mean_return=fmean(result.total_reward for result in group),
        mean_progress=fmean(result.progress for result in group),
        median_steps=median(result.num_steps for result in group),
        end_reasons=dict(Counter(str(result.end_reason) for result in group).most_common()),
    )


def cleared_stages(summaries: Iterable[Summary]) -> dict[str, bool | None]:
    """Whether each stage is cleared: sampled, noop and sticky each reach 95 of 100. None: too few were played."""
    by_stage: dict[str, dict[Mode, Summary]] = {}
    for each in summaries:
        by_stage.setdefault(each.stage, {})[each.mode] = each
    return {stage: _verdict(modes) for stage, modes in by_stage.items()}


def _verdict(modes: Mapping[Mode, Summary]) -> bool | None:
    played = [modes[mode] for mode in JUDGED_MODES if mode in modes]
    if any(each.clear_rate < CLEAR_RATE for each in played if each.num_episodes >= JUDGED_EPISODES):
        return False
    is_complete = len(played) == len(JUDGED_MODES) and all(each.num_episodes >= JUDGED_EPISODES for each in played)
    return True if is_complete else None
