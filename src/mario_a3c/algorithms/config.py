"""What the learner aims at."""

from dataclasses import dataclass
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Target = Literal["vtrace", "gae"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReturnConfig:
    """How rewards become targets."""

    target: Target = option("vtrace", "vtrace corrects for a policy that has changed since it acted; gae does not")
    gamma: float = option(0.95, "discount of a step")
    gamma_final: float = option(
        0.0,
        "the same at the end of the run: a step saved is worth a risk of 1 - gamma, so first the way, then care; 0: as "
        "at the beginning",
    )
    trace_lambda: float = option(0.95, "0: targets look one step ahead; 1: to the end of the rollout")
    clip_rho: float = option(1.0, "upper limit of importance ratios in the targets and in the policy gradient")
    clip_c: float = option(1.0, "upper limit of importance ratios in the traces of vtrace")

    def __post_init__(self) -> None:
        shares = {"--gamma": self.gamma, "--gamma-final": self.gamma_final, "--trace-lambda": self.trace_lambda}
        for flag, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise ConfigError(f"{flag} must be in [0, 1], got {share}")
        if self.changes_gamma and max(self.gamma, self.gamma_final) == 1.0:
            raise ConfigError(
                f"--gamma {self.gamma} goes to --gamma-final {self.gamma_final} by the horizon, 1 / (1 - gamma) steps: "
                "both must be below 1"
            )
        if not 0.0 < self.clip_c <= self.clip_rho:
            raise ConfigError(
                f"--clip-c {self.clip_c} must be positive and not above --clip-rho {self.clip_rho}: "
                "the traces would otherwise outweigh the correction that they carry"
            )

    @property
    def last_gamma(self) -> float:
        return self.gamma_final or self.gamma

    @property
    def changes_gamma(self) -> bool:
        return self.last_gamma != self.gamma
