"""How a benchmark is run and where its result goes."""

from dataclasses import dataclass
from pathlib import Path

from mario_a3c.errors import ConfigError
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchConfig:
    """Machines are noisy: everything is measured several times, in turns, and the best of each counts."""

    rounds: int = option(3, "how often each thing is measured")
    autotune: bool = option(False, "model: also let libraries search for their fastest kernels, which takes minutes")
    seconds: float = option(60.0, "train: how long each way is measured, with its warm-up")
    json: Path | None = option(None, "write the result to this file, too")

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError(f"--rounds must be at least 1, got {self.rounds}")
        if self.seconds <= 0:
            raise ConfigError(f"--seconds must be above 0, got {self.seconds}")
