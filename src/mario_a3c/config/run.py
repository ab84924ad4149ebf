"""How long a run is, where it is kept, and what it does on the way."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

DEFAULT_TARGET_CLEAR_RATE = 0.95
_MOST_OF_PLAN = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetConfig:
    """When training ends. Without any of these it ends when the stage is cleared reliably."""

    total_updates: int | None = option(None, "make so many updates, whatever is reached before")
    planned_updates: int = option(
        2000,
        "without --total-updates: the length of the schedules; half as many again are tried at most",
        flag="--planned-updates",
    )
    max_steps: int | None = option(None, "stop with a snapshot when the run has made so many steps")
    max_seconds: float | None = option(None, "stop with a snapshot after so many seconds of this start")
    target_clear_rate: float | None = option(
        None,
        f"end when this share of the last episodes reached the flag; {DEFAULT_TARGET_CLEAR_RATE} where neither this "
        "nor --total-updates is given",
    )
    clear_window: int = option(200, "episodes over which the clear rate is taken")

    def __post_init__(self) -> None:
        counts = {
            "--total-updates": self.total_updates,
            "--planned-updates": self.planned_updates,
            "--max-steps": self.max_steps,
            "--clear-window": self.clear_window,
        }
        for flag, count in counts.items():
            _expect(count is None or count >= 1, flag, "at least 1", count)
        _expect(self.max_seconds is None or self.max_seconds > 0, "--max-seconds", "above 0", self.max_seconds)
        rate = self.target_clear_rate
        _expect(rate is None or 0 < rate <= 1, "--target-clear-rate", "in (0, 1]", rate)

    @property
    def num_scheduled_updates(self) -> int:
        """The end of the schedules."""
        return self.planned_updates if self.total_updates is None else self.total_updates

    @property
    def num_updates(self) -> int:
        """The end of the run at the latest. One that has nearly reached its clear rate goes on with its last rates."""
        return math.ceil(_MOST_OF_PLAN * self.planned_updates) if self.total_updates is None else self.total_updates

    @property
    def clear_rate_to_reach(self) -> float | None:
        """None where the run goes on to its last update whatever it clears."""
        if self.target_clear_rate is None and self.total_updates is None:
            return DEFAULT_TARGET_CLEAR_RATE
        return self.target_clear_rate


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    """Where a run is kept, and what is written of it."""

    save_dir: Path = option(Path("trained_models"), "folder of all runs")
    run_name: str | None = option(None, "folder of this run below it; by default made from time and stage")
    resume: str | None = option(
        None,
        "go on from a checkpoint: its file; its run's folder; latest: of --run-name, else of the newest run of this "
        "stage; auto: of any run below --save-dir with the settings of this one",
    )
    init_from: Path | None = option(
        None,
        "begin a new run with the weights of a checkpoint: its file, one of weights alone, or its run's folder; "
        "everything else begins anew",
    )
    init_weights: Literal["auto", "averaged", "last"] = option(
        "auto", "which weights --init-from takes; auto: the averaged ones, where a mario eval would take them, too"
    )
    init_temperature: float = option(
        1.0, "what the logits of --init-from are divided by; above 1, a policy that has become sure tries things again"
    )
    fresh: bool = option(False, "begin anew in a folder that holds a run; the old one is moved aside")
    save_interval: float = option(120.0, "seconds between checkpoints; one more is written at the end")
    keep_checkpoints: int = option(
        3, "numbered checkpoints kept, and the one with the best clear rate; older ones are removed"
    )
    auto_mem: bool = option(False, "where memory does not suffice, try something smaller and say what (or AUTO_MEM=1)")
    log_interval: float = option(5.0, "seconds between progress lines")

    def __post_init__(self) -> None:
        _expect(self.save_interval > 0, "--save-interval", "above 0", self.save_interval)
        _expect(self.init_temperature > 0, "--init-temperature", "above 0", self.init_temperature)
        _expect(self.keep_checkpoints >= 1, "--keep-checkpoints", "at least 1", self.keep_checkpoints)
        _expect(self.log_interval >= 0, "--log-interval", "0 or more", self.log_interval)
        if self.resume is not None and self.fresh:
            raise ConfigError("--resume continues a run, --fresh begins a new one: give one of them")
        if self.resume is not None and self.init_from is not None:
            raise ConfigError(
                "--resume continues a run with everything it had, --init-from begins a new one with its weights alone: "
                "give one of them"
            )


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
