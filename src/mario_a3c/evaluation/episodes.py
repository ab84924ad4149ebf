"""One episode of an evaluation: which one it is, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.evaluation.config import MODES, Mode
from mario_a3c.native.start_states import STAGES_PER_WORLD, Stage
from mario_a3c.random_numbers import make_keys


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Names an episode; with a seed and weights, everything that happens in it follows."""

    stage: Stage
    mode: Mode
    number: int

    @property
    def level(self) -> int:
        return (self.stage.world - 1) * STAGES_PER_WORLD + self.stage.number - 1

    @property
    def stream(self) -> int:
        """No other episode has it. Adding stages, modes or episodes to an evaluation leaves the others as they were."""
        return (MODES.index(self.mode) << 48) | (self.level << 32) | self.number

    @property
    def as_played(self) -> "EpisodeSpec":
        """Without chance in it, every episode of a stage is the first one again."""
        return EpisodeSpec(self.stage, self.mode, 0) if self.mode == "greedy" else self

    @property
    def name(self) -> str:
        return f"{self.stage}_{self.mode}_{self.number:03d}"


def list_episodes(stages: Iterable[Stage], modes: Sequence[Mode], num_episodes: int) -> list[EpisodeSpec]:
    return [EpisodeSpec(stage, mode, n) for stage in stages for mode in modes for n in range(num_episodes)]


def env_seeds_of(seed: int, specs: Sequence[EpisodeSpec]) -> npt.NDArray[np.uint64]:
    """What the environment of each episode draws from: its idle frames, and where an action sticks."""
    keys = make_keys(seed, "episode", torch.tensor([spec.stream for spec in specs], dtype=torch.int64))
    return keys.numpy().view(np.uint64)


@dataclass(frozen=True, slots=True)
class Trace:
    """What the agent thought at every step."""

    probabilities: npt.NDArray[np.float32]  # [T, A]
    values: npt.NDArray[np.float32]  # [T]


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """How an episode went. `actions` are the agent's choices; what was held may differ, where actions stick."""

    spec: EpisodeSpec
    env_seed: int
    total_reward: float
    progress: float  # pixels
    num_steps: int
    num_frames: int
    end_reason: EndReason
    time_left: int  # the game's clock
    score: int
    coins: int
    room: int  # where it ended, as in the game's record
    x: int
    y: int  # downward from the top of the screen
    actions: npt.NDArray[np.uint8]  # [T]
    frames: npt.NDArray[np.uint16]  # [T]: of each step; more than the frame skip where the player had no control
    trace: Trace | None = None

    @property
    def is_clear(self) -> bool:
        return self.end_reason is EndReason.FLAG

    def as_row(self) -> dict[str, Any]:
        """For JSON and CSV."""
        spec = self.spec
        return {
            "stage": str(spec.stage),
            "mode": spec.mode,
            "episode": spec.number,
            "return": round(self.total_reward, 4),
            "progress": round(self.progress, 1),
            "steps": self.num_steps,
            "frames": self.num_frames,
            "time_left": self.time_left,
            "flag": self.is_clear,
            "end_reason": str(self.end_reason),
            "score": self.score,
            "coins": self.coins,
            "room": self.room,
            "x": self.x,
            "y": self.y,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "EpisodeResult":
        """What `as_row` kept: enough for tables and pictures, not for playing it again."""
        return cls(
            spec=EpisodeSpec(Stage.parse(row["stage"]), row["mode"], int(row["episode"])),
            env_seed=0,
            total_reward=float(row["return"]),
            progress=float(row["progress"]),
            num_steps=int(row["steps"]),
            num_frames=int(row["frames"]),
            end_reason=EndReason[row["end_reason"].upper()],
            time_left=int(row["time_left"]),
            score=int(row["score"]),
            coins=int(row["coins"]),
            room=int(row["room"]),
            x=int(row["x"]),
            y=int(row["y"]),
            actions=np.zeros(0, np.uint8),
            frames=np.zeros(0, np.uint16),
        )
