"""How long and how wide a search goes, and where episodes begin along the ways that it finds."""

from dataclasses import dataclass
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.options import option

Curriculum = Literal["none", "starts", "stages", "both"]
StartOrder = Literal["spread", "focus", "backward"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchConfig:
    """The search for a way through a stage. With one thread, equal seeds give equal results."""

    seed: int = option(0, "what every random choice is drawn from")
    threads: int = option(0, "threads that search together; 0: all cores; 1: reproducible")
    max_frames: int = option(60_000_000, "give a stage up after so many frames without a way through")
    max_seconds: float = option(0.0, "give a stage up, or stop improving it, after so many seconds; 0: never")
    polish_frames: int = option(
        250_000, "after the first way through search on for so many frames: shorter ways, a fuller map"
    )
    max_cells: int = option(
        65_536, "places kept for a stage, about 8 KB of memory each; what is found beyond is dropped"
    )

    def __post_init__(self) -> None:
        _expect(0 <= self.seed < 1 << 63, "--seed", "in [0, 2^63)", self.seed)
        _expect(0 <= self.threads <= 1024, "--threads", "in [0, 1024]", self.threads)
        _expect(self.max_frames >= 1, "--max-frames", "1 or more", self.max_frames)
        _expect(self.max_seconds >= 0, "--max-seconds", "0 or more", self.max_seconds)
        _expect(self.polish_frames >= 0, "--polish-frames", "0 or more", self.polish_frames)
        _expect(1 <= self.max_cells <= 1 << 22, "--max-cells", "in [1, 4194304]", self.max_cells)


@dataclass(frozen=True, kw_only=True, slots=True)
class StartConfig:
    """Where episodes begin: at the start of the stage, but for these shares of them, along a way that was found."""

    start_early: float = option(0.0, "share of the episodes that begin in the first third of the way")
    start_middle: float = option(0.0, "share of the episodes that begin in its middle third")
    start_late: float = option(0.0, "share of the episodes that begin in its last third, near the goal")
    start_states: int = option(48, "states along the way of each stage, three of them right before its goal")
    way_frames: int = option(
        800_000,
        "frames for which a stage is searched on after the first way through it, for a shorter way and a better map: "
        "about two seconds of a core, once; four million take nine, and find 287 steps through 2-1 instead of 330",
    )

    def __post_init__(self) -> None:
        shares = (self.start_early, self.start_middle, self.start_late)
        _expect(
            min(shares) >= 0 and sum(shares) <= 1, "--start-early/-middle/-late", "0 or more, together <= 1", shares
        )
        _expect(3 <= self.start_states <= 1000, "--start-states", "in [3, 1000]", self.start_states)
        _expect(self.way_frames >= 0, "--way-frames", "0 or more", self.way_frames)

    @property
    def thirds(self) -> tuple[float, float, float]:
        """Shares of the first, the middle and the last third of the way."""
        return self.start_early, self.start_middle, self.start_late


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumConfig:
    """What episodes begin with more often as the agent learns."""

    curriculum: Curriculum = option(
        "none",
        "starts: episodes begin along the way, too, and at the stage's own start as it is cleared; stages: more of the "
        "stages that are nearly learned; both",
    )
    start_order: StartOrder = option(
        "spread",
        "starts along the way. spread: everywhere at once, fewer as the stage is cleared; focus: the same, more "
        "before hard places; backward: near the goal, and further back as it is reached",
    )
    clear_rate_to_move: float = option(0.2, "backward: they move when this share of their episodes reached the flag")
    clear_rate_episodes: int = option(40, "episodes of a stage over which its clear rate is measured")
    patience_episodes: int = option(2000, "backward: they move after so many episodes, whatever those reached")
    real_starts: float = option(0.25, "share of a stage's episodes that begin at its own start at first")
    real_starts_final: float = option(
        1.0,
        "what that rises to as the stage is cleared; with less than 1 practice along the way goes on, which "
        "--start-order focus gives to the places where it still fails",
    )
    death_starts: float = option(
        0.0,
        "share of the episodes that begin 12 to 32 steps before the agent died lately, and are cut after 64: rare "
        "failures are met often",
    )
    power_starts: float = option(
        0.0,
        "share of the episodes that begin shortly before the first mushroom of their stage, and end soon after it; the "
        "fewer, the more of them take it",
    )
    stage_floor: float = option(0.3, "every stage is played at least so often, of an even share")

    def __post_init__(self) -> None:
        _expect(0 < self.clear_rate_to_move <= 1, "--clear-rate-to-move", "in (0, 1]", self.clear_rate_to_move)
        _expect(self.clear_rate_episodes >= 1, "--clear-rate-episodes", "1 or more", self.clear_rate_episodes)
        _expect(self.patience_episodes >= 1, "--patience-episodes", "1 or more", self.patience_episodes)
        _expect(0 <= self.real_starts <= 1, "--real-starts", "in [0, 1]", self.real_starts)
        _expect(
            self.real_starts <= self.real_starts_final <= 1,
            "--real-starts-final",
            f"in [--real-starts, 1], here [{self.real_starts:g}, 1]",
            self.real_starts_final,
        )
        _expect(0 <= self.death_starts < 1, "--death-starts", "in [0, 1)", self.death_starts)
        _expect(0 <= self.power_starts < 1, "--power-starts", "in [0, 1)", self.power_starts)
        _expect(
            self.death_starts + self.power_starts < 1,
            "--death-starts and --power-starts",
            "below 1 together",
            self.death_starts + self.power_starts,
        )
        if self.real_starts_final < 1 and self.start_order == "backward":
            raise ConfigError(
                "--start-order backward comes to the start of a stage for good: leave --real-starts-final out"
            )
        if self.death_starts and not self.moves_starts:
            raise ConfigError("--death-starts are starts along the way: add --curriculum starts, or both")
        _expect(0 < self.stage_floor <= 1, "--stage-floor", "in (0, 1]", self.stage_floor)

    @property
    def moves_starts(self) -> bool:
        return self.curriculum in ("starts", "both")

    @property
    def needs_map(self) -> bool:
        return self.moves_starts and self.start_order == "focus"

    @property
    def weighs_stages(self) -> bool:
        return self.curriculum in ("stages", "both")


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
