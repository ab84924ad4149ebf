"""Records as lines of JSON: metrics one by one, episodes by the update."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from mario_a3c.metrics.lines import LineFile, encode
from mario_a3c.metrics.schema import Record, complete


class JsonLines:
    """Records as lines; a `Sink`."""

    def __init__(self, file: LineFile) -> None:
        self.file, self.name = file, str(file.path)

    def write(self, payload: Record) -> None:
        self.file.append(encode(payload))

    def close(self) -> None:
        self.file.close()


@dataclass(frozen=True, slots=True)
class EndedEpisodes:
    """The episodes that ended in an update, as they were recorded."""

    common: Mapping[str, Any]  # session, time, update, global_step
    episodes: npt.NDArray[Any]  # EPISODE_DTYPE
    stages: Mapping[int, str]  # of every level in them
    reasons: Mapping[int, str]


class EpisodeLines:
    """Episodes as lines; a `Sink`. Hundreds may end in a second, so they become text here, not where they end."""

    def __init__(self, file: LineFile) -> None:
        self.file, self.name = file, str(file.path)

    def write(self, payload: EndedEpisodes) -> None:
        lines = [encode(record) for record in episode_records(payload)]
        self.file.append(b"".join(lines))

    def close(self) -> None:
        self.file.close()


_COLUMNS = ("level", "total_reward", "num_steps", "num_frames", "progress", "end_reason", "number", "start")


def episode_records(ended: EndedEpisodes) -> list[Record]:
    columns = (ended.episodes[name].tolist() for name in _COLUMNS)
    return [
        complete(
            "episode",
            {
                **ended.common,
                "stage": ended.stages[level],
                "return": total_reward,
                "length": num_steps,
                "frames": num_frames,
                "progress": progress,
                "end_reason": ended.reasons[end_reason],
                "number": number,
                "start": start,
            },
        )
        for level, total_reward, num_steps, num_frames, progress, end_reason, number, start in zip(
            *columns, strict=True
        )
    ]
