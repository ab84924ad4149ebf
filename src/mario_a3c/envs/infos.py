"""What an environment tells beside its picture, under the names that gym-super-mario-bros gave it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.native.bindings import EndReason

STATUS_NAMES = np.array(["small", "tall", "fireball"], dtype=object)
END_REASONS = np.array([str(reason) for reason in EndReason], dtype=object)

# Name in the info, name in the game's record, and what it is.
_NUMBERS = (
    ("x_pos", "x"),
    ("y_pos", "y"),
    ("time", "clock"),
    ("score", "score"),
    ("coins", "coins"),
    ("life", "lives"),
    ("world", "world"),
    ("stage", "stage"),
    ("area", "room"),
)


def single_info(game: Any, episode: Any) -> dict[str, Any]:
    """Of one environment, as plain Python values. `game` and `episode` are rows of the batch's arrays."""
    info: dict[str, Any] = {name: int(game[field]) for name, field in _NUMBERS}
    end_reason = int(episode["end_reason"])
    return {
        **info,
        "status": STATUS_NAMES[game["status"]],
        "flag_get": bool(game["has_flag"]) or end_reason == EndReason.FLAG,
        "progress": float(episode["progress"]),
        "end_reason": END_REASONS[end_reason],
        "steps": int(episode["num_steps"]),
        "frames": int(episode["num_frames"]),
        "power_ups": int(episode["num_power_ups"]),
        "return": float(episode["total_reward"]),
    }


def vector_infos(games: npt.NDArray[Any], episodes: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Of many, as Gymnasium has it: an array per name, and beside it a mask of who has it."""
    end_reasons = episodes["end_reason"]
    infos: dict[str, Any] = {name: games[field].astype(np.int32) for name, field in _NUMBERS}
    infos["status"] = STATUS_NAMES[games["status"]]
    infos["flag_get"] = games["has_flag"] | (end_reasons == EndReason.FLAG)
    infos["progress"] = episodes["progress"].copy()
    infos["end_reason"] = END_REASONS[end_reasons]
    infos["steps"] = episodes["num_steps"].astype(np.int32)
    infos["frames"] = episodes["num_frames"].astype(np.int32)
    infos["power_ups"] = episodes["num_power_ups"].astype(np.int32)
    infos["return"] = episodes["total_reward"].copy()
    return infos | {f"_{name}": mask for name in infos}
