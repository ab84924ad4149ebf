"""What looks wrong in the metrics, and what to do about it."""

import logging
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LOG = logging.getLogger("mario.alert")

Records = tuple[Mapping[str, Any], ...]  # the last one is the newest

_REPEAT_SECONDS = 600.0
_NUM_REMEMBERED = 900  # half an hour at the default interval
_NUM_NEW = 5  # records that are compared with those before them
_NUM_OLD = 20  # at least so many before them
_LOW_ENTROPY_SHARE = 0.05
_LONGEST_EPISODE = 4000  # steps; the game's clock ends one after some 2,400
_LARGE_SAMPLE_INTERVAL = 4


@dataclass(frozen=True, slots=True)
class AlertContext:
    """What the rules must know about a run."""

    num_actions: int
    num_envs: int
    per_sample_interval: int | None = None  # None without replay


@dataclass(frozen=True, slots=True)
class Rule:
    """`sees` says what is wrong, or None."""

    name: str
    sees: Callable[[Records, AlertContext], str | None]
    advice: str


class Alerts:
    """Looks at every record; says once what begins, again every ten minutes, and what is over."""

    def __init__(self, context: AlertContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._context, self._clock = context, clock
        self._records: deque[Mapping[str, Any]] = deque(maxlen=_NUM_REMEMBERED)
        self._said: dict[str, float] = {}

    def look(self, record: Mapping[str, Any]) -> list[str]:
        """The names of all alerts that hold."""
        self._records.append(record)
        records = tuple(self._records)
        seen = {rule.name: text for rule in RULES if (text := rule.sees(records, self._context)) is not None}
        for rule in RULES:
            self._say(rule, seen.get(rule.name))
        return list(seen)

    def _say(self, rule: Rule, text: str | None) -> None:
        now = self._clock()
        if text is None:
            if self._said.pop(rule.name, None) is not None:
                LOG.info("%s is over", rule.name)
        elif now - self._said.get(rule.name, -math.inf) >= _REPEAT_SECONDS:
            self._said[rule.name] = now
            LOG.warning("%s: %s; %s", rule.name, text, rule.advice)


def entropy_collapse(records: Records, context: AlertContext) -> str | None:
    entropy, clear_rate = records[-1].get("entropy"), records[-1].get("clear_rate") or 0.0
    least = _LOW_ENTROPY_SHARE * math.log(max(2, context.num_actions))
    if entropy is None or entropy >= least or clear_rate >= 0.5:
        return None
    return f"the policy hardly varies (entropy {entropy:.3f}) and clears {clear_rate:.0%}"


def clear_rate_falling(records: Records, _: AlertContext) -> str | None:
    rates = [rate for each in records if (rate := each.get("clear_rate")) is not None]
    if len(rates) < _NUM_OLD or max(rates) < 0.5 or rates[-1] > max(rates) - 0.3:
        return None
    return f"the clear rate fell from {max(rates):.0%} to {rates[-1]:.0%}"


def throughput_falling(records: Records, _: AlertContext) -> str | None:
    before, now = _medians(records, "env_steps_per_sec")
    if before is None or now is None or now >= 0.5 * before:
        return None
    return f"{now:,.0f} steps/s, after {before:,.0f} before"


def not_finite(records: Records, _: AlertContext) -> str | None:
    skipped = records[-1].get("skipped_steps") or 0
    if not skipped and records[-1].get("loss_total") is not None:
        return None
    return f"{skipped} optimizer steps were left out, because loss or gradient were not finite"


def no_finished_episode(records: Records, context: AlertContext) -> str | None:
    last = records[-1]
    since = next((each for each in records if each["episodes_total"] == last["episodes_total"]), last)
    num_steps = (last["global_step"] - since["global_step"]) / context.num_envs
    if num_steps <= _LONGEST_EPISODE:
        return None
    return f"no episode has ended for {num_steps:,.0f} steps of each environment"


def replay_not_filling(records: Records, _: AlertContext) -> str | None:
    last = records[-1]
    pushed = last.get("replay_push_total")
    if pushed is None:
        return None
    since = next((each for each in records if each.get("replay_push_total") == pushed), last)
    num_updates = last["update"] - since["update"]
    return f"nothing was stored for {num_updates} updates" if num_updates >= 10 else None


def td_error_drift(records: Records, context: AlertContext) -> str | None:
    if (context.per_sample_interval or 0) < _LARGE_SAMPLE_INTERVAL:
        return None
    before, now = _medians(records, "td_error_p90")
    if before is None or now is None or now <= 2 * before:
        return None
    return f"90 % of TD errors are below {now:.3g}, before it was {before:.3g}: priorities are out of date"


RULES = (
    Rule("entropy_collapse", entropy_collapse, "raise --entropy-beta, or lower --lr; --adaptive does it by itself"),
    Rule("clear_rate_falling", clear_rate_falling, "lower --lr or --epochs; the run's folder has older checkpoints"),
    Rule("throughput_falling", throughput_falling, "look for other work on this machine, swapping or a hot GPU"),
    Rule("not_finite", not_finite, "lower --lr or --clip-grad, or try --no-amp"),
    Rule("no_finished_episode", no_finished_episode, "set --max-episode-steps or --stall-steps"),
    Rule("replay_not_filling", replay_not_filling, "losses may not be finite; see not_finite"),
    Rule("td_error_drift", td_error_drift, "lower --per-sample-interval"),
)  # fmt: skip


def _medians(records: Records, name: str) -> tuple[float | None, float | None]:
    """Of the records before the newest ones, and of the newest; None where there are too few."""
    values = [value for each in records if (value := each.get(name)) is not None]
    if len(values) < _NUM_OLD + _NUM_NEW:
        return None, None
    return statistics.median(values[:-_NUM_NEW]), statistics.median(values[-_NUM_NEW:])
