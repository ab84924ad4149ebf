"""What is kept of the past, and what is replayed of it."""

from dataclasses import dataclass
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Storage = Literal["auto", "device", "host"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayConfig:
    """Prioritized replay of past sequences, learned from through V-trace. A sequence is one environment's rollout."""

    per: bool = option(False, "learn from replayed sequences, too")
    per_capacity: int = option(4096, "sequences kept; the oldest is overwritten")
    per_memory_gb: float = option(0.0, "keep no more sequences than fit into this; 0: as many as --per-capacity says")
    per_batch: int = option(32, "sequences in a sample")
    per_sample_interval: int = option(1, "updates between samples; sequences are stored at every update")
    per_alpha: float = option(0.6, "0 samples uniformly, 1 purely by priority")
    per_beta: float = option(0.4, "how much of the bias is corrected at first; all of it at the end of the run")
    per_max_share: float = option(
        0.9, "share of its largest |advantage| in a sequence's priority; the rest is the mean"
    )
    per_burn_in: int = option(0, "first steps of a sequence that only bring the memory up to date")
    per_fp16_scalars: bool = option(True, "keep advantages and targets in half precision (or MARIO_PER_FP16_SCALARS=0)")
    per_storage: Storage = option("auto", "where sequences lie; auto: on the device if they take less than half of it")
    per_prefetch: bool = option(True, "fetch the next sample while the next rollout is collected")
    per_save: bool = option(False, "write the sequences into checkpoints")

    def __post_init__(self) -> None:
        counts = {
            "--per-capacity": self.per_capacity,
            "--per-batch": self.per_batch,
            "--per-sample-interval": self.per_sample_interval,
        }
        for flag, count in counts.items():
            if count < 1:
                raise ConfigError(f"{flag} must be at least 1, got {count}")
        shares = {"--per-alpha": self.per_alpha, "--per-beta": self.per_beta, "--per-max-share": self.per_max_share}
        for flag, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise ConfigError(f"{flag} must be in [0, 1], got {share}")
        if self.per_burn_in < 0 or self.per_memory_gb < 0:
            raise ConfigError("--per-burn-in and --per-memory-gb must not be negative")
