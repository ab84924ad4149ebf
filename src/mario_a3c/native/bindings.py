"""`mario_native.h` in ctypes' words: records, status codes and the signature of every function.

A test reads the header and compares. Buffers are passed as plain addresses (`c_void_p`), taken once by the caller:
asking an array for its address costs more than the call.
"""

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntEnum
from typing import Any

ABI_VERSION = 14


class Status(IntEnum):
    OK = 0
    BAD_CARTRIDGE = 1
    INTERNAL = 2
    BAD_STATE = 3
    BAD_ARGUMENT = 4
    BAD_ENGINE = 5


class EndReason(IntEnum):
    """`mario_end_reason`: why an episode ended. From TIME_LIMIT on it was cut short: its last state has a value."""

    NONE = 0
    FLAG = 1
    DEATH = 2
    GAME_OVER = 3
    WARP = 4
    TIME_LIMIT = 5
    STALL = 6
    JAMMED = 7

    def __str__(self) -> str:
        return "" if self is EndReason.NONE else self.name.lower()


class Observed(IntEnum):
    """`mario_observed`."""

    PICTURE = 0
    RAM = 1
    BOTH = 2


class Goal(IntEnum):
    """`mario_goal`: what a search is for."""

    CLEAR = 0
    POWER_UP = 1


class CartridgeInfo(ctypes.Structure):
    """`mario_cartridge_info`."""

    _fields_ = (
        ("prg_rom_bytes", c_uint32),
        ("chr_rom_bytes", c_uint32),
        ("prg_ram_bytes", c_uint32),
        ("vertical_mirroring", c_uint32),
    )


class ViewRecord(ctypes.Structure):
    """`mario_view`."""

    _fields_ = (
        ("x", c_uint32),
        ("y", c_uint32),
        ("width", c_uint32),
        ("height", c_uint32),
        ("out_width", c_uint32),
        ("out_height", c_uint32),
        ("is_rgb", c_uint32),
    )


class CpuRecord(ctypes.Structure):
    """`mario_cpu`."""

    _fields_ = (
        ("cycle", c_uint64),
        ("pc", c_uint32),
        ("a", c_uint32),
        ("x", c_uint32),
        ("y", c_uint32),
        ("s", c_uint32),
        ("p", c_uint32),
    )


class BatchRecord(ctypes.Structure):
    """`mario_batch_config`."""

    _fields_ = (
        ("num_consoles", c_uint32),
        ("num_threads", c_uint32),
        ("frame_skip", c_uint32),
        ("num_snapshots", c_uint32),
        ("ram_fill", c_uint32),
        ("takes_maximum", c_uint32),
        ("num_ram_addresses", c_uint32),
        ("view", ViewRecord),
    )


class StepFlags(ctypes.Structure):
    """`mario_step_flags`."""

    _fields_ = (("lag_frames", c_uint32), ("is_jammed", c_uint32))


class GameRecord(ctypes.Structure):
    """`mario_game`; the header says what each field means."""

    _fields_ = (
        ("score", c_uint32),
        ("x", c_uint16),
        ("screen_x", c_uint16),
        ("y", c_uint16),
        ("clock", c_uint16),
        ("coins", c_uint16),
        ("world", c_uint16),
        ("stage", c_uint16),
        ("level", c_uint16),
        ("area_number", c_uint16),
        ("room", c_uint16),
        ("x_on_screen", c_uint8),
        ("y_on_screen", c_uint8),
        ("y_screen", c_uint8),
        ("status", c_uint8),
        ("lives", c_uint8),
        ("player_state", c_uint8),
        ("motion", c_uint8),
        ("game_mode", c_uint8),
        ("game_task", c_uint8),
        ("area_type", c_uint8),
        ("next_area", c_uint8),
        ("next_page", c_uint8),
        ("maze_passes", c_uint8),
        ("maze_correct", c_uint8),
        ("maze_pending", c_uint8),
        ("has_control", c_bool),
        ("is_paused", c_bool),
        ("is_loading", c_bool),
        ("is_intro_walk", c_bool),
        ("is_cut_scene", c_bool),
        ("is_busy", c_bool),
        ("is_entering", c_bool),
        ("is_in_pipe", c_bool),
        ("is_swimming", c_bool),
        ("is_climbing", c_bool),
        ("is_on_clouds", c_bool),
        ("is_dying", c_bool),
        ("is_dead", c_bool),
        ("is_losing_life", c_bool),
        ("is_game_over", c_bool),
        ("is_on_flagpole", c_bool),
        ("is_stage_over", c_bool),
        ("has_flag", c_bool),
        ("has_axe", c_bool),
        ("is_world_end", c_bool),
        ("is_stage_clear", c_bool),
        ("is_power_up_out", c_bool),
    )


class EnvRules(ctypes.Structure):
    """`mario_env_rules`."""

    _fields_ = (
        ("sticky", c_double),
        ("progress_reward", c_float),
        ("step_penalty", c_float),
        ("flag_bonus", c_float),
        ("failure_penalty", c_float),
        ("score_reward", c_float),
        ("power_reward", c_float),
        ("is_classic", c_uint32),
        ("num_actions", c_uint32),
        ("frame_stack", c_uint32),
        ("max_episode_steps", c_uint32),
        ("stall_steps", c_uint32),
        ("stall_fails", c_uint32),
        ("noop_max", c_uint32),
        ("one_life", c_uint32),
        ("one_stage", c_uint32),
        ("last_level", c_uint32),
        ("skip_idle", c_uint32),
        ("autoreset", c_uint32),
        ("cycles_starts", c_uint32),
        ("first_env", c_uint32),
        ("augment_shift", c_uint32),
        ("augment_brightness", c_uint32),
        ("augment_noise", c_uint32),
        ("show_buttons", c_uint32),
        ("observes", c_uint32),
        ("shaping_discount", c_float),
    )


class EpisodeRecord(ctypes.Structure):
    """`mario_episode`; the header says what each field means."""

    _fields_ = (
        ("total_reward", c_float),
        ("progress", c_float),
        ("num_steps", c_uint32),
        ("num_frames", c_uint32),
        ("number", c_uint32),
        ("start", c_int32),
        ("level", c_int32),
        ("end_reason", c_int32),
        ("num_power_ups", c_uint32),
    )


class MapAreaRecord(ctypes.Structure):
    """`mario_map_area`."""

    _fields_ = (
        ("num_columns", c_uint32),
        ("first", c_uint32),
        ("stage_frames", c_uint32),
        ("room", c_uint16),
        ("level", c_uint8),
        ("maze_passes", c_uint8),
        ("maze_correct", c_uint8),
        ("next_area", c_uint8),
        ("next_page", c_uint8),
        ("unused", c_uint8),
    )


class ExplorationRecord(ctypes.Structure):
    """`mario_exploration_config`."""

    _fields_ = (
        ("seed", c_uint64),
        ("num_threads", c_uint32),
        ("frame_skip", c_uint32),
        ("skips_idle", c_uint32),
        ("max_cells", c_uint32),
        ("num_actions", c_uint32),
        ("goal", c_uint32),
    )


class ExplorationStatus(ctypes.Structure):
    """`mario_exploration_status`; the header says what each field means."""

    _fields_ = (
        ("num_frames", c_uint64),
        ("first_goal_frames", c_uint64),
        ("num_rollouts", c_uint64),
        ("num_deaths", c_uint64),
        ("num_goals", c_uint64),
        ("num_bytes", c_uint64),
        ("num_cells", c_uint32),
        ("best_steps", c_uint32),
        ("furthest_x", c_uint32),
        ("is_full", c_uint32),
    )


class CellRecord(ctypes.Structure):
    """`mario_cell`."""

    _fields_ = (
        ("steps", c_uint32),
        ("remaining_steps", c_uint32),
        ("num_picks", c_uint32),
        ("room", c_uint16),
        ("x", c_uint16),
        ("y", c_uint16),
        ("maze_passes", c_uint8),
        ("maze_correct", c_uint8),
        ("next_area", c_uint8),
        ("next_page", c_uint8),
        ("hold", c_uint8),
        ("unused", c_uint8),
    )


# The size of each record is compared with the library's before anything else is called.
RECORDS: dict[str, type[ctypes.Structure]] = {
    "mario_cartridge_info_bytes": CartridgeInfo,
    "mario_view_bytes": ViewRecord,
    "mario_cpu_bytes": CpuRecord,
    "mario_batch_config_bytes": BatchRecord,
    "mario_step_flags_bytes": StepFlags,
    "mario_game_bytes": GameRecord,
    "mario_env_rules_bytes": EnvRules,
    "mario_episode_bytes": EpisodeRecord,
    "mario_map_area_bytes": MapAreaRecord,
    "mario_exploration_config_bytes": ExplorationRecord,
    "mario_exploration_status_bytes": ExplorationStatus,
    "mario_cell_bytes": CellRecord,
}

# Result, then arguments.
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "mario_abi_version": (c_uint32, []),
    "mario_source_hash": (c_char_p, []),
    "mario_cartridge_info_bytes": (c_size_t, []),
    "mario_last_error": (c_char_p, []),
    "mario_read_cartridge": (c_int32, [c_char_p, c_size_t, POINTER(CartridgeInfo)]),
    "mario_write_engine": (c_int32, [c_char_p, c_size_t, c_uint32, c_uint32, c_void_p, POINTER(c_size_t)]),
    "mario_view_bytes": (c_size_t, []),
    "mario_console_create": (c_int32, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "mario_console_destroy": (None, [c_void_p]),
    "mario_console_power_on": (None, [c_void_p, c_uint8]),
    "mario_console_reset": (None, [c_void_p]),
    "mario_console_run_frames": (None, [c_void_p, c_uint8, c_uint32]),
    "mario_console_set_engine": (c_int32, [c_void_p, c_char_p]),
    "mario_console_set_idle_skip": (None, [c_void_p, c_int32]),
    "mario_console_ram": (c_void_p, [c_void_p]),
    "mario_console_prg_ram": (c_void_p, [c_void_p]),
    "mario_console_frame_count": (c_uint64, [c_void_p]),
    "mario_console_lag_frames": (c_uint64, [c_void_p]),
    "mario_console_is_jammed": (c_int32, [c_void_p]),
    "mario_cpu_bytes": (c_size_t, []),
    "mario_console_cpu": (None, [c_void_p, POINTER(CpuRecord)]),
    "mario_console_run_to_cycle": (None, [c_void_p, c_uint8, c_uint64]),
    "mario_state_bytes": (c_size_t, []),
    "mario_console_save": (c_int32, [c_void_p, c_void_p, c_size_t]),
    "mario_console_load": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "mario_console_observe": (c_int32, [c_void_p, POINTER(ViewRecord), c_void_p, c_size_t]),
    "mario_game_bytes": (c_size_t, []),
    "mario_read_game": (None, [c_void_p, POINTER(GameRecord)]),
    "mario_batch_config_bytes": (c_size_t, []),
    "mario_step_flags_bytes": (c_size_t, []),
    "mario_batch_create": (c_int32, [c_char_p, c_size_t, POINTER(BatchRecord), c_void_p, POINTER(c_void_p)]),
    "mario_batch_destroy": (None, [c_void_p]),
    "mario_batch_step": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "mario_batch_set_engine": (c_int32, [c_void_p, c_char_p]),
    "mario_batch_set_snapshot": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "mario_batch_take_snapshot": (c_int32, [c_void_p, c_uint32, c_uint32]),
    "mario_batch_copy": (c_int32, [c_void_p, c_uint32, c_uint32]),
    "mario_batch_save": (c_int32, [c_void_p, c_uint32, c_void_p, c_size_t]),
    "mario_batch_load": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "mario_batch_ram": (c_void_p, [c_void_p, c_uint32]),
    "mario_batch_num_threads": (c_uint32, [c_void_p]),
    "mario_batch_share_threads": (c_int32, [c_void_p, c_void_p]),
    "mario_env_rules_bytes": (c_size_t, []),
    "mario_episode_bytes": (c_size_t, []),
    "mario_map_area_bytes": (c_size_t, []),
    "mario_envs_create": (c_int32, [c_void_p, POINTER(EnvRules), c_void_p, POINTER(c_void_p)]),
    "mario_envs_destroy": (None, [c_void_p]),
    "mario_envs_set_starts": (c_int32, [c_void_p, c_void_p, c_uint32]),
    "mario_envs_set_weights": (c_int32, [c_void_p, c_void_p, c_uint32]),
    "mario_envs_set_excerpts": (c_int32, [c_void_p, c_void_p, c_uint32]),
    "mario_envs_set_map": (c_int32, [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32]),
    "mario_envs_reset": (c_int32, [c_void_p] * 7),
    "mario_envs_step": (c_int32, [c_void_p] * 12),
    "mario_envs_state_bytes": (c_size_t, [c_void_p]),
    "mario_envs_save": (c_int32, [c_void_p, c_uint32, c_void_p, c_size_t]),
    "mario_envs_load": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "mario_batch_observe": (c_int32, [c_void_p, c_uint32, POINTER(ViewRecord), c_void_p, c_size_t]),
    "mario_exploration_config_bytes": (c_size_t, []),
    "mario_exploration_status_bytes": (c_size_t, []),
    "mario_cell_bytes": (c_size_t, []),
    "mario_exploration_create": (
        c_int32,
        [c_char_p, c_size_t, POINTER(ExplorationRecord), c_void_p, c_char_p, c_size_t, POINTER(c_void_p)],
    ),
    "mario_exploration_destroy": (None, [c_void_p]),
    "mario_exploration_set_engine": (c_int32, [c_void_p, c_char_p]),
    "mario_exploration_run": (c_int32, [c_void_p, c_uint64, c_uint64]),
    "mario_exploration_add_paths": (c_int32, [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]),
    "mario_exploration_get_status": (None, [c_void_p, POINTER(ExplorationStatus)]),
    "mario_exploration_get_cells": (c_int32, [c_void_p, c_void_p, c_size_t]),
    "mario_exploration_get_path": (c_int32, [c_void_p, c_uint32, c_void_p, c_size_t]),
    "mario_exploration_get_state": (c_int32, [c_void_p, c_uint32, c_void_p, c_size_t]),
    "mario_exploration_get_best_path": (c_int32, [c_void_p, c_void_p, c_size_t]),
}
