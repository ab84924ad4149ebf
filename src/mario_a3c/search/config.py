"""How much is tried, and where it is kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Objective = Literal["avg_return", "clear_rate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyConfig:
    """A study: trials, each a short training run in this process."""

    trials: int = option(20, "runs that this process makes; the first of a study has the settings as they are given")
    updates: int = option(500, "updates of each run")
    objective: Objective = option("avg_return", "what is made as large as possible, of the last episodes of a run")
    max_seconds: float = option(0.0, "begin no further run after so many seconds, and end the running one; 0: never")
    seed: int = option(0, "what the search draws from; runs have the seed of their settings")
    out: Path = option(Path("output/search"), "folder of the runs, the study and the best settings")
    storage: str = option("", "where the study is kept: a URL (sqlite:///search.db) or a file; by default one in --out")
    study_name: str = option("mario", "name of the study; processes with one name and storage work on it together")

    def __post_init__(self) -> None:
        for flag, count in (("--trials", self.trials), ("--updates", self.updates)):
            if count < 1:
                raise ConfigError(f"{flag} must be at least 1, got {count}")
        if self.max_seconds < 0:
            raise ConfigError(f"--max-seconds must be 0 or more, got {self.max_seconds}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PopulationConfig:
    """A population: runs that are trained a piece at a time, the worst going on from the best with changed settings."""

    members: int = option(8, "runs in the population")
    generations: int = option(10, "pieces in which each is trained")
    updates: int = option(100, "updates of a piece")
    objective: Objective = option("avg_return", "what counts, of the last episodes of a piece")
    replaced_share: float = option(0.25, "share of the members that go on from a better one after each piece")
    factor: float = option(1.2, "what a changed learning rate or entropy is multiplied or divided by")
    max_seconds: float = option(0.0, "begin no further piece after so many seconds; 0: never")
    seed: int = option(0, "what changes are drawn from; runs have seeds of their own")
    out: Path = option(Path("output/population"), "folder of the runs and of the population")

    def __post_init__(self) -> None:
        for flag, count, least in (
            ("--members", self.members, 2), ("--generations", self.generations, 1), ("--updates", self.updates, 1),
        ):  # fmt: skip
            if count < least:
                raise ConfigError(f"{flag} must be at least {least}, got {count}")
        if not 0.0 < self.replaced_share <= 0.5:
            raise ConfigError(f"--replaced-share must be in (0, 0.5], got {self.replaced_share}")
        if self.factor <= 1.0:
            raise ConfigError(f"--factor must be above 1, got {self.factor}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SpecialistsConfig:
    """Specialists: an agent for each stage, trained one after another."""

    stages: str = option("all", "stages that get one: all, or like 1-1,8-4 or 1-1..2-4")
    seconds: float = option(60.0, "most seconds of training for each, without its set-up")
    report: Path | None = option(None, "report.json of `mario report`: leave out the stages that its agents clear")
    out: Path = option(Path("output/specialists"), "folder of the weights, of the runs, and of how they ended")

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ConfigError(f"--seconds must be above 0, got {self.seconds}")
