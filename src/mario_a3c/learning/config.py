"""How the network learns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Objective = Literal["auto", "policy_gradient", "clipped"]
EntropySchedule = Literal["constant", "linear", "cosine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnerConfig:
    """One pass over a rollout (A3C, IMPALA), or several with a clipped objective (PPO): the same code."""

    lr: float = option(5e-4, "learning rate of AdamW after the warm-up")
    lr_final_share: float = option(0.1, "what is left of it at the end of the run, on a cosine")
    lr_hold_share: float = option(0.0, "share of the run for which it stays, before the cosine begins")
    warmup_share: float = option(0.01, "share of the run in which it rises from zero; never more than 100 updates")
    weight_decay: float = option(0.0, "decay of AdamW")
    adam_epsilon: float = option(1e-5, "epsilon of AdamW")
    clip_grad: float = option(0.5, "longest gradient; 0: any")
    value_coef: float = option(0.5, "weight of the value loss")
    entropy_beta: float = option(0.01, "weight of the entropy at the beginning")
    entropy_beta_final: float = option(0.002, "weight of the entropy at the end of the run")
    entropy_schedule: EntropySchedule = option("linear", "how it gets there; constant: it does not")
    floor_beta: float = option(
        0.0,
        "weight of the mean log-probability of all actions at the beginning: each stays possible, the less the worse "
        "it is, where an entropy lets it vanish",
    )
    floor_beta_final: float = option(0.0, "the same at the end of the run, on the schedule of the entropy")
    teacher: Path | None = option(
        None,
        "an agent whose policy is followed at first, by a network of any other shape: its checkpoint, or one of "
        "weights alone",
    )
    teacher_beta: float = option(1.0, "weight of what the policy leaves out of the teacher's, at the beginning")
    teacher_share: float = option(0.25, "share of the run after which that weight has fallen to nothing")
    epochs: int = option(1, "passes over each rollout")
    minibatches: int = option(4, "optimizer steps in a pass; environments are dealt out anew for each pass")
    grad_accum: int = option(1, "pieces of a minibatch whose gradients are added up: the same result in less memory")
    objective: Objective = option("auto", "auto: clipped where there are several passes, else the policy gradient")
    clip_range: float = option(0.2, "how far the clipped objective lets a probability ratio go from 1")
    normalize_advantages: bool = option(True, "bring the advantages of a minibatch to mean 0 and deviation 1")
    excuse_stuck: bool = option(
        True,
        "steps of --sticky that repeat the action before say nothing about the chosen one, and do not teach the policy",
    )
    value_clip: float = option(0.0, "how far a value may go from the one that acted, as in PPO; 0: anywhere")
    target_kl: float = option(0.0, "no further pass over a rollout once the policy has moved so far; 0: all of them")
    ema_decay: float = option(0.99, "of the averaged weights that are evaluated and released; 0: keep none")

    def __post_init__(self) -> None:
        positive = {"--lr": self.lr, "--adam-epsilon": self.adam_epsilon, "--clip-range": self.clip_range}
        for flag, number in positive.items():
            _expect(number > 0, flag, "positive", number)
        not_negative = {
            "--weight-decay": self.weight_decay,
            "--clip-grad": self.clip_grad,
            "--value-coef": self.value_coef,
            "--entropy-beta": self.entropy_beta,
            "--entropy-beta-final": self.entropy_beta_final,
            "--floor-beta": self.floor_beta,
            "--floor-beta-final": self.floor_beta_final,
            "--teacher-beta": self.teacher_beta,
            "--value-clip": self.value_clip,
            "--target-kl": self.target_kl,
        }
        for flag, number in not_negative.items():
            _expect(number >= 0, flag, "0 or more", number)
        for flag, count in {
            "--epochs": self.epochs,
            "--minibatches": self.minibatches,
            "--grad-accum": self.grad_accum,
        }.items():
            _expect(count >= 1, flag, "at least 1", count)
        _expect(0 <= self.lr_final_share <= 1, "--lr-final-share", "in [0, 1]", self.lr_final_share)
        _expect(0 < self.teacher_share <= 1, "--teacher-share", "in (0, 1]", self.teacher_share)
        _expect(0 <= self.lr_hold_share < 1, "--lr-hold-share", "in [0, 1)", self.lr_hold_share)
        _expect(0 <= self.warmup_share <= 0.5, "--warmup-share", "in [0, 0.5]", self.warmup_share)
        _expect(0 <= self.ema_decay < 1, "--ema-decay", "in [0, 1)", self.ema_decay)

    def num_taught_updates(self, total_updates: int) -> int:
        """How many updates of a run follow the teacher."""
        return round(self.teacher_share * total_updates)

    @property
    def is_clipped(self) -> bool:
        return self.objective == "clipped" or (self.objective == "auto" and self.epochs > 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveConfig:
    """Entropy and learning rate follow what the agent achieves."""

    adaptive: bool = option(False, "raise exploration when returns stagnate, tighten it when they rise")
    adaptive_window: int = option(50, "updates over which returns are averaged and compared")
    adaptive_cooldown: int = option(100, "updates without a change after each change")
    adaptive_threshold: float = option(0.02, "share by which returns must rise from one window to the next")
    adaptive_factor: float = option(1.5, "what a change multiplies or divides by")
    adaptive_limit: float = option(8.0, "the most that entropy and rate are ever multiplied or divided by")
    adaptive_clear_rate: float = option(0.8, "a clear rate from which on exploration is tightened")

    def __post_init__(self) -> None:
        _expect(self.adaptive_window >= 1, "--adaptive-window", "at least 1", self.adaptive_window)
        _expect(self.adaptive_cooldown >= 0, "--adaptive-cooldown", "0 or more", self.adaptive_cooldown)
        _expect(self.adaptive_threshold >= 0, "--adaptive-threshold", "0 or more", self.adaptive_threshold)
        _expect(self.adaptive_factor > 1, "--adaptive-factor", "above 1", self.adaptive_factor)
        _expect(self.adaptive_limit >= 1, "--adaptive-limit", "at least 1", self.adaptive_limit)
        _expect(0 < self.adaptive_clear_rate <= 1, "--adaptive-clear-rate", "in (0, 1]", self.adaptive_clear_rate)


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
