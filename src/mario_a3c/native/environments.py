"""Environments on the consoles of a batch: actions in, observations, rewards and ends out, all in one native call."""

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.errors import SaveStateError
from mario_a3c.native.batch import BatchConsole
from mario_a3c.native.bindings import EnvRules, EpisodeRecord, MapAreaRecord, Observed
from mario_a3c.native.console import RAM_BYTES, Handle, in_range
from mario_a3c.native.game_record import GAME_DTYPE
from mario_a3c.native.library import check, load_library
from mario_a3c.native.view import View

BEGIN_DRAWN, BEGIN_HERE = -1, -2
MAP_AREA_DTYPE: np.dtype[Any] = np.dtype(MapAreaRecord)


def frame_shape(observed: Observed, view: View) -> tuple[int, int]:
    """Height and width of one frame of an observation."""
    picture_rows = 0 if observed is Observed.RAM else view.out_height
    return picture_rows + (0 if observed is Observed.PICTURE else ram_rows(view.out_width)), view.out_width


def ram_rows(width: int) -> int:
    """So many rows hold a console's RAM; an even number, so that frames are whole words."""
    return 2 * math.ceil(RAM_BYTES / (2 * width))


class Environments:
    """`mario_envs` of the header, over a batch that it keeps, with arrays that are made once and written in place.

    One thread at a time; the GIL is free during a step.
    """

    def __init__(self, batch: BatchConsole, rules: EnvRules, action_buttons: npt.NDArray[np.uint8]) -> None:
        self._library = load_library()
        self.batch = batch
        self.num_actions = int(rules.num_actions)
        buttons = np.ascontiguousarray(action_buttons, np.uint8)
        if buttons.shape != (self.num_actions,):
            raise ValueError(f"{self.num_actions} actions have as many buttons, got {buttons.shape}")
        self._handle = Handle(
            lambda out: self._library.mario_envs_create(batch.address, ctypes.byref(rules), buttons.ctypes.data, out),
            self._library.mario_envs_destroy,
        )
        self._address = self._handle.address
        num_envs = batch.num_consoles
        shape = (num_envs, int(rules.frame_stack), *frame_shape(Observed(rules.observes), batch.view))
        self.actions = np.zeros(num_envs, np.int64)
        self.observations = np.zeros(shape, np.uint8)
        self.rewards = np.zeros(num_envs, np.float32)
        self.terminated = np.zeros(num_envs, np.bool_)
        self.truncated = np.zeros(num_envs, np.bool_)
        self.stuck = np.zeros(num_envs, np.bool_)
        self.games = np.zeros(num_envs, GAME_DTYPE)
        self.episodes = np.zeros(num_envs, np.dtype(EpisodeRecord))
        self.final_observations = np.zeros(shape, np.uint8)
        self.final_games = np.zeros(num_envs, GAME_DTYPE)
        self.final_episodes = np.zeros(num_envs, np.dtype(EpisodeRecord))
        # Asking an array for its address takes microseconds, so it is done once.
        self._observations = self.observations.ctypes.data
        after = (self.rewards, self.terminated, self.truncated, self.stuck, self.games, self.episodes)
        final = (self.final_observations, self.final_games, self.final_episodes)
        self._inputs = (self._address, self.actions.ctypes.data)
        self._outputs = tuple(array.ctypes.data for array in (*after, *final))
        self._reset_outputs = (self.games.ctypes.data, self.episodes.ctypes.data)

    def step(self, target: int | None = None) -> None:
        """Takes `actions`. Observations go to the address `target` where one is given."""
        self.batch.take_pending_engine()
        status = self._library.mario_envs_step(*self._inputs, target or self._observations, *self._outputs)
        if status:
            check(self._library, status)

    def reset(
        self,
        mask: npt.NDArray[np.bool_] | None,
        seeds: npt.NDArray[np.uint64] | None,
        starts: npt.NDArray[np.int32] | None,
        target: int | None = None,
    ) -> None:
        """Begins new episodes; the arrays, where given, have one contiguous element per environment."""
        addresses = []
        for array, dtype in ((mask, np.bool_), (seeds, np.uint64), (starts, np.int32)):
            fits = array is None or (array.dtype == dtype and array.shape == (self.batch.num_consoles,))
            if not fits or not (array is None or array.flags.c_contiguous):
                raise ValueError(f"a contiguous {np.dtype(dtype)} per environment was expected, got {array!r}")
            addresses.append(None if array is None else array.ctypes.data)
        status = self._library.mario_envs_reset(
            self._address, *addresses, target or self._observations, *self._reset_outputs
        )
        check(self._library, status)

    def set_starts(self, snapshots: npt.NDArray[np.uint32]) -> None:
        chosen = np.ascontiguousarray(snapshots, np.uint32)
        check(self._library, self._library.mario_envs_set_starts(self._address, chosen.ctypes.data, len(chosen)))

    def set_weights(self, weights: npt.NDArray[np.float64]) -> None:
        chosen = np.ascontiguousarray(weights, np.float64)
        check(self._library, self._library.mario_envs_set_weights(self._address, chosen.ctypes.data, len(chosen)))

    def set_excerpts(self, num_steps: npt.NDArray[np.uint32]) -> None:
        """After how many steps an episode from each start is cut; 0: as the rules say."""
        chosen = np.ascontiguousarray(num_steps, np.uint32)
        check(self._library, self._library.mario_envs_set_excerpts(self._address, chosen.ctypes.data, len(chosen)))

    def set_map(self, areas: npt.NDArray[Any], remaining_frames: npt.NDArray[np.uint32]) -> None:
        """`areas` are MAP_AREA_DTYPE; none at all measures progress by position again."""
        areas = np.ascontiguousarray(areas, MAP_AREA_DTYPE)
        numbers = np.ascontiguousarray(remaining_frames, np.uint32)
        status = self._library.mario_envs_set_map(
            self._address, areas.ctypes.data, len(areas), numbers.ctypes.data, len(numbers)
        )
        check(self._library, status)

    def save(self, env: int) -> bytes:
        """What the environment remembers beside its console."""
        in_range("env", env, 0, self.batch.num_consoles - 1)
        state = ctypes.create_string_buffer(self._library.mario_envs_state_bytes(self._address))
        check(self._library, self._library.mario_envs_save(self._address, env, state, len(state)))
        return state.raw

    def load(self, env: int, state: bytes) -> None:
        in_range("env", env, 0, self.batch.num_consoles - 1)
        try:
            check(self._library, self._library.mario_envs_load(self._address, env, state, len(state)))
        except ValueError as error:
            raise SaveStateError(str(error)) from error
