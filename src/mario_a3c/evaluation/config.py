"""What is evaluated, and how."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.envs.config import Progress
from mario_a3c.errors import ConfigError
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.options import option

Mode = Literal["greedy", "sampled", "noop", "sticky"]
MODES: tuple[Mode, ...] = ("greedy", "sampled", "noop", "sticky")

# A stage is cleared when each of these reaches 95 of 100; a lucky trajectory shows in greedy alone.
JUDGED_MODES: tuple[Mode, ...] = ("sampled", "noop", "sticky")
JUDGED_EPISODES = 100
CLEAR_RATE = 0.95

NOOP_FRAMES = 30
STICKY_PROBABILITY = 0.25

PROGRESS: Progress = "position"  # whatever was learned from: it is the same for every agent
PROGRESS_UNIT = ProgressUnit.of_option(PROGRESS)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationConfig:
    """Which episodes are played. Equal seeds give equal episodes, however many are played at once."""

    episodes: int = option(5, "episodes of each stage and mode")
    mode: Literal["greedy", "sampled", "noop", "sticky", "all"] = option(
        "greedy",
        "greedy: the most likely action; sampled: drawn from the policy; noop: sampled, after 0 to 30 idle frames; "
        "sticky: sampled, each step repeats the previous action with probability 0.25; all: these four",
    )
    seed: int = option(0, "what every random choice is drawn from")
    num_threads: int = option(0, "groups of episodes that are played at once; 0: one for each core")

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ConfigError(f"--episodes must be at least 1, got {self.episodes}")
        if not 0 <= self.seed < 1 << 62:
            raise ConfigError(f"--seed must be in [0, 2^62), got {self.seed}")
        if not 0 <= self.num_threads <= 1024:
            raise ConfigError(f"--num-threads must be in [0, 1024], got {self.num_threads}")

    @property
    def modes(self) -> tuple[Mode, ...]:
        return MODES if self.mode == "all" else (self.mode,)


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoConfig:
    """Videos of evaluated episodes."""

    video: Literal["none", "game", "overlay", "grid"] = option(
        "none",
        "write MP4 videos: the game; overlay: with the agent's input, action probabilities and value beside it; grid: "
        "up to 64 episodes of a stage and mode at once",
    )
    video_episodes: int = option(1, "of how many episodes of each stage and mode (for a grid: all)")
    gif: bool = option(False, "write GIFs instead, fifteen frames a second")
    video_dir: Path = option(Path("output/eval"), "folder of the videos")

    def __post_init__(self) -> None:
        if self.video_episodes < 1:
            raise ConfigError(f"--video-episodes must be at least 1, got {self.video_episodes}")


@dataclass(frozen=True, kw_only=True, slots=True)
class InRunConfig:
    """Evaluation while training, and at its end."""

    eval_interval: int = option(
        0, "updates between evaluations of the agent so far; 0: none. On a GPU they run beside training, on the CPU"
    )
    eval_episodes: int = option(50, "sampled episodes of each stage in such an evaluation")
    video_interval: int = option(
        0, "updates between videos of an episode; 0: none. They are put off where they would take 2 % of the CPU time"
    )
    confirm_clear: bool = option(
        True,
        "a run that is to end at a clear rate ends when 400 fresh episodes show it: sampled, and with sticky actions "
        "and idle frames where it trains with them",
    )
    confirm_margin: float = option(
        0.1, "fresh episodes are played from a clear rate of the training episodes on that is so much below it"
    )
    final_evaluation: bool = option(
        True, "after a run that cleared its stage: an evaluation in all four modes, and a video"
    )

    def __post_init__(self) -> None:
        counts = {"--eval-interval": (self.eval_interval, 0), "--video-interval": (self.video_interval, 0)}
        for flag, (count, least) in {**counts, "--eval-episodes": (self.eval_episodes, 1)}.items():
            if count < least:
                raise ConfigError(f"{flag} must be at least {least}, got {count}")
        if not 0.0 <= self.confirm_margin < 1.0:
            raise ConfigError(f"--confirm-margin must be in [0, 1), got {self.confirm_margin}")
