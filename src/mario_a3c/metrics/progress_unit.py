"""What a run's progress is measured in, and how a person reads it: the one place that decides."""

import json
from enum import Enum
from pathlib import Path


class ProgressUnit(Enum):
    """Pixels of new ground; by a map, how much of the way through the stage lies behind."""

    PIXELS = "pixels"
    SHARE = "share of the way"

    @classmethod
    def of_option(cls, progress: str) -> "ProgressUnit":
        """Of a run with this `--progress`."""
        return cls.SHARE if progress == "map" else cls.PIXELS

    @classmethod
    def of_run(cls, path: Path) -> "ProgressUnit":
        """Of a run's folder, or of a file in it, as its `run.json` says; what has none is in pixels."""
        folder = path if path.is_dir() else path.parent
        try:
            recorded = json.loads((folder / "run.json").read_text())
            return cls.of_option(recorded["config"]["vector_env"]["env"]["progress"])
        except (OSError, ValueError, KeyError, TypeError):
            return cls.PIXELS

    @property
    def usual_length(self) -> float:
        """Of a stage. By a map it is exact; in pixels a stage's real one is known when it has been cleared."""
        return 1.0 if self is ProgressUnit.SHARE else 3200.0

    def text(self, progress: float) -> str:
        """`93%` or `2,710`."""
        return f"{progress:.0%}" if self is ProgressUnit.SHARE else f"{progress:,.0f}"

    def full_text(self, progress: float) -> str:
        """`93% of the way` or `2,710 pixels`."""
        return f"{self.text(progress)} {'of the way' if self is ProgressUnit.SHARE else self.value}"
