"""What is written about a run, how often, and what is shown of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Display = Literal["auto", "panel", "lines"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricsConfig:
    """What is written about a run: always JSONL, by default TensorBoard."""

    metrics_interval: float = option(2.0, "seconds between records of the metrics; 0: one for every update")
    return_window: int = option(100, "episodes over which returns, their percentiles and lengths are taken")
    episode_log: bool = option(True, "write a line for every episode to episodes.jsonl")
    tensorboard: bool = option(True, "write TensorBoard's event files")
    tensorboard_dir: Path = option(
        Path("tensorboard/a3c_super_mario_bros"), "folder of TensorBoard's runs; each start has one named by its time"
    )
    wandb_project: str | None = option(
        None, "mirror the metrics to this project of Weights & Biases; WANDB_MODE=offline keeps them here"
    )
    parquet_interval: float = option(300.0, "seconds between versions of metrics/latest.parquet; 0: only at the end")
    rotate_mb: float = option(64.0, "a JSONL file that has grown to so many megabytes is compressed and begun anew")
    keep_rotated: int = option(16, "compressed files kept of each; older ones are removed")

    def __post_init__(self) -> None:
        for flag, number in {
            "--metrics-interval": self.metrics_interval,
            "--parquet-interval": self.parquet_interval,
        }.items():
            _expect(number >= 0, flag, "0 or more", number)
        for flag, count in {"--return-window": self.return_window, "--keep-rotated": self.keep_rotated}.items():
            _expect(count >= 1, flag, "at least 1", count)
        _expect(self.rotate_mb > 0, "--rotate-mb", "above 0", self.rotate_mb)


@dataclass(frozen=True, kw_only=True, slots=True)
class DisplayConfig:
    """What is shown while it runs."""

    display: Display = option(
        "auto", "panel: a live picture of the run; lines: plain text; auto: a panel on a terminal"
    )
    quiet: bool = option(False, "show warnings and errors alone", alias="-q")
    verbose: bool = option(False, "show more of what is done; lines, no panel", alias="-v")

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise ConfigError("--quiet shows less, --verbose shows more: give one of them")


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
