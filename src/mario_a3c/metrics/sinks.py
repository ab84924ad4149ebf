"""Records as lines of JSON: metrics one by one, episodes by the update."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
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
    is_whole: npt.NDArray[np.bool_]


class EpisodeLines:
    """Episodes as lines; a `Sink`. Hundreds may end in a second, so they become text here, not where they end."""

    def __init__(self, file: LineFile) -> None:
        self.file, self.name = file, str(file.path)

    def write(self, payload: EndedEpisodes) -> None:
        self.file.append(episode_lines(payload))

    def close(self) -> None:
        self.file.close()


_COLUMNS = (
    "level",
    "total_reward",
    "num_steps",
    "num_frames",
    "progress",
    "end_reason",
    "num_power_ups",
    "number",
    "start",
)


def episode_lines(ended: EndedEpisodes) -> bytes:
    """What `encode` makes of `episode_records`, five times as fast: the beginning is the same for all of an update."""
    episodes = ended.episodes
    if not (np.isfinite(episodes["total_reward"]).all() and np.isfinite(episodes["progress"]).all()):
        return b"".join(encode(record) for record in episode_records(ended))
    common = complete("episode", ended.common)
    begin = encode({name: common[name] for name in common if name in _IN_COMMON}).decode().removesuffix("}\n")
    columns = (*(episodes[name].tolist() for name in _COLUMNS), ended.is_whole.tolist())
    return "".join(
        f'{begin},"stage":"{ended.stages[level]}","return":{total_reward!r},"length":{num_steps},"frames":{num_frames},'
        f'"progress":{progress!r},"end_reason":"{ended.reasons[end_reason]}","power_ups":{power_ups},"number":{number},'
        f'"start":{start},"is_whole":{"true" if is_whole else "false"}}}\n'
        for level, total_reward, num_steps, num_frames, progress, end_reason, power_ups, number, start, is_whole in zip(
            *columns, strict=True
        )
    ).encode()


def episode_records(ended: EndedEpisodes) -> list[Record]:
    columns = (*(ended.episodes[name].tolist() for name in _COLUMNS), ended.is_whole.tolist())
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
                "power_ups": power_ups,
                "number": number,
                "start": start,
                "is_whole": is_whole,
            },
        )
        for level, total_reward, num_steps, num_frames, progress, end_reason, power_ups, number, start, is_whole in zip(
            *columns, strict=True
        )
    ]


_IN_COMMON = frozenset(("kind", "schema", "session", "time", "update", "global_step"))
