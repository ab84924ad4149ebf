"""What each part of learning is worth: the same task with one thing changed at a time, several seeds each."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import LearnerConfig

_WINDOW = 5  # updates that a point of a curve is averaged over


@dataclass(frozen=True)
class Variant:
    """One row: settings that differ from the first variant's."""

    name: str
    learner: dict[str, Any] = field(default_factory=dict)
    returns: dict[str, Any] = field(default_factory=dict)
    replay: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)


VARIANTS = (
    Variant("one pass, V-trace"),
    Variant("one pass, GAE", returns={"target": "gae"}),
    Variant("3 clipped passes, V-trace", learner={"epochs": 3}),
    Variant("3 clipped passes, GAE", learner={"epochs": 3}, returns={"target": "gae"}),
    Variant("with replay", replay={"per": True}),
    Variant("with replay every 4th update", replay={"per": True, "per_sample_interval": 4}),
    Variant("constant entropy", learner={"entropy_schedule": "constant"}),
    Variant("no entropy", learner={"entropy_beta": 0.0, "entropy_beta_final": 0.0}),
    Variant("noisy heads", network={"noisy_linear": True}),
    Variant("parameter noise", network={"parameter_noise": 1.0}),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """The returns of one run, update by update; the last value goes on where no episode ended."""

    variant: str
    seed: int
    returns: list[float]
    seconds: float  # of the CPU


MakeTraining = Callable[[Variant, int], ShortTraining]


def make_settings(
    variant: Variant, learner: LearnerConfig, replay: ReplayConfig
) -> tuple[LearnerConfig, ReturnConfig, ReplayConfig]:
    """A variant's settings on top of what all of them have."""
    return (
        replace(learner, **variant.learner),
        ReturnConfig(**variant.returns),
        replace(replay, **variant.replay),
    )


def run_variants(
    variants: Sequence[Variant], seeds: Sequence[int], make: MakeTraining, report: Callable[[str], None]
) -> list[Curve]:
    """Every variant with every seed; says after each how long the rest will take."""
    curves: list[Curve] = []
    started, total = time.monotonic(), len(variants) * len(seeds)
    for seed in seeds:  # seeds outside: a slow minute of the machine hits all variants
        for variant in variants:
            curves.append(_run(variant, seed, make(variant, seed)))
            left = (time.monotonic() - started) / len(curves) * (total - len(curves))
            last = statistics.mean(curves[-1].returns[-_WINDOW:])
            report(f"{len(curves)} of {total}: {variant.name}, seed {seed}: return {last:.2f}; {left:.0f} s left")
    return curves


def _run(variant: Variant, seed: int, training: ShortTraining) -> Curve:
    returns: list[float] = []
    started = time.process_time()  # not disturbed by what else the machine does
    for rollout, _ in training.updates():
        ended: list[float] = rollout.episodes["total_reward"].tolist()
        returns.append(statistics.mean(ended) if ended else (returns[-1] if returns else float("nan")))
    return Curve(variant.name, seed, returns, time.process_time() - started)


def make_table(curves: Sequence[Curve], best_return: float) -> str:
    """Markdown: how good it was at the end, when it was nearly there, and what it cost."""
    lines = [
        "| variant | return at the end | worst seed | updates to 90 % | CPU seconds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(curve.variant for curve in curves):
        mine = [curve for curve in curves if curve.variant == name]
        last = [statistics.mean(curve.returns[-_WINDOW:]) for curve in mine]
        reached = [_reached(curve, 0.9 * best_return) for curve in mine]
        known = [each for each in reached if each is not None]
        when = f"{statistics.mean(known):.0f}" if len(known) == len(mine) else f"{len(known)} of {len(mine)} seeds"
        seconds = statistics.mean(curve.seconds for curve in mine)
        lines.append(f"| {name} | {statistics.mean(last):.2f} | {min(last):.2f} | {when} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


def _reached(curve: Curve, mark: float) -> int | None:
    """The first update from which on a window's mean was at the mark."""
    smooth = smoothed(curve.returns)
    return next((update + 1 for update, each in enumerate(smooth) if each >= mark), None)


def smoothed(returns: Sequence[float]) -> list[float]:
    return [statistics.mean(returns[max(0, update - _WINDOW + 1) : update + 1]) for update in range(len(returns))]
