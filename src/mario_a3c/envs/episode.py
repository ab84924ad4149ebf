"""The rules of an episode in Python, for consoles that are not ours; `native/src/envs` has them for those that are.

A test plays both side by side on the same console and compares every number.
"""

from typing import Any

import numpy as np

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.env_batch import EPISODE_DTYPE
from mario_a3c.native.bindings import EndReason, GameRecord

_MAX_WALK_PER_FRAME, _WALK_SLACK = 4, 16
_CLASSIC_MAX_WALK, _CLASSIC_DEATH, _CLASSIC_LIMIT = 5, -25.0, 15.0


class Episode:
    """Watches the games of one episode and says what each step earned and whether it was the last."""

    def __init__(self, config: MarioEnvConfig, game: GameRecord, *, number: int, start: int, last_level: int) -> None:
        self._config = config
        self._last_level = last_level
        self.record: Any = np.zeros(1, EPISODE_DTYPE)[0]
        self.record["number"], self.record["start"], self.record["level"] = number, start, game.level
        self._furthest = {game.room: _x_of(game)}
        self._last_room, self._last_x = game.room, _x_of(game)
        self._num_stalled = 0
        self._score, self._status, self._power = game.score, game.status, _power_of(game)
        self._cleared_level = -1
        self._is_losing_life = False
        self._classic = (game.x, game.clock)
        self._num_flags = self._num_lives_lost = 0
        self._classic_reward = 0.0

    def look(self, game: GameRecord, *, is_played: bool) -> EndReason:
        """After every frame. `is_played` where the frame is one of the step, and not one without control behind it."""
        self._num_lives_lost += game.is_losing_life and not self._is_losing_life
        self._is_losing_life = game.is_losing_life
        if game.is_stage_clear and self._cleared_level != game.level:
            self._num_flags += 1
            self._cleared_level = game.level
        if is_played:
            self._classic_reward += self._classic_of_frame(game)
        return self._end_of(game)

    def settle(self, game: GameRecord, end: EndReason, *, num_frames: int, num_idle: int) -> tuple[float, EndReason]:
        """At the end of a step: its reward, and why the episode ended, if it did."""
        config, reward = self._config, self._config.reward
        self.record["num_steps"] += 1
        self.record["num_frames"] += num_frames
        gain = self._advance(game, num_frames - num_idle) if game.has_control else 0
        self.record["progress"] += gain
        self._num_stalled = 0 if gain > 0 else self._num_stalled + 1
        if not end and config.stall_steps and self._num_stalled >= config.stall_steps:
            end = EndReason.STALL
        if not end and config.max_episode_steps and self.record["num_steps"] >= config.max_episode_steps:
            end = EndReason.TIME_LIMIT
        num_failures = self._num_lives_lost + (end is EndReason.WARP) + self._is_failed_stall(end)
        earned = (
            reward.progress_reward * gain
            - reward.step_penalty
            + reward.score_reward * max(0, game.score - self._score)
            + reward.power_reward * (_power_of(game) - self._power)
            + reward.flag_bonus * self._num_flags
            - reward.failure_penalty * num_failures
        )
        if reward.reward == "classic":
            earned = self._classic_reward
        self.record["num_power_ups"] += game.status > self._status
        self._score, self._status, self._power = game.score, game.status, _power_of(game)
        self._num_flags = self._num_lives_lost = 0
        self._classic_reward = 0.0
        self.record["total_reward"] += earned
        self.record["end_reason"] = end
        return earned, end

    def is_cut_short(self, end: EndReason) -> bool:
        return end >= EndReason.TIME_LIMIT and not self._is_failed_stall(end)

    def _is_failed_stall(self, end: EndReason) -> bool:
        return end is EndReason.STALL and self._config.stall_fails

    def _advance(self, game: GameRecord, num_frames: int) -> int:
        """New ground by position: see `Progress` in `native/src/envs/progress.h`."""
        x = _x_of(game)
        max_walk = _WALK_SLACK + _MAX_WALK_PER_FRAME * num_frames
        has_walked = game.room == self._last_room and abs(x - self._last_x) <= max_walk
        self._last_room, self._last_x = game.room, x
        furthest = self._furthest.setdefault(game.room, x)
        self._furthest[game.room] = max(furthest, x)
        return max(0, x - furthest) if has_walked else 0

    def _classic_of_frame(self, game: GameRecord) -> float:
        """gym-super-mario-bros's own: pixels and ticks since the last frame, and 25 off for a death."""
        walk, ticks = game.x - self._classic[0], game.clock - self._classic[1]
        self._classic = (game.x, game.clock)
        earned = float((walk if abs(walk) <= _CLASSIC_MAX_WALK else 0) + min(ticks, 0))
        earned += _CLASSIC_DEATH if game.is_dying or game.is_dead else 0.0
        return max(-_CLASSIC_LIMIT, min(_CLASSIC_LIMIT, earned))

    def _end_of(self, game: GameRecord) -> EndReason:
        config = self._config
        is_classic = config.reward.reward == "classic"
        has_flag = game.has_flag if is_classic else game.is_stage_clear
        is_lost = game.is_dying or game.is_dead if is_classic else game.is_losing_life
        if has_flag and (config.one_stage or (not is_classic and game.level >= self._last_level)):
            return EndReason.FLAG
        if is_lost and config.one_life:
            return EndReason.DEATH
        if game.is_game_over:
            return EndReason.GAME_OVER
        if config.one_stage and game.level != self.record["level"]:
            return EndReason.WARP
        return EndReason.NONE


def _power_of(game: GameRecord) -> float:
    """What is out but not taken is half as good."""
    return int(game.status) + 0.5 * bool(game.is_power_up_out)


def _x_of(game: GameRecord) -> int:
    """Left of a room x is about 65,000, a small negative number."""
    return int(game.x) - 0x10000 if game.x >= 0x8000 else int(game.x)
