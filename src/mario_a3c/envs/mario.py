"""What happens in a native step, as Gymnasium's wrappers: for environments of others, and to compare with.

They take any environment that shows screens in colour, [240, 256, 3], a frame a step, with the infos of
gym-super-mario-bros. `create_vector_env` and `create_eval_env` need none of them: the same happens in the console.
"""

from collections import deque
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from mario_a3c.envs.gym_env import scaled
from mario_a3c.envs.picture import SIZE, shrink

Env = gymnasium.Env[Any, Any]
Step = tuple[Any, float, bool, bool, dict[str, Any]]


class FrameSkip(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Holds an action for `skip` frames and adds up what they earn; `takes_maximum`: of the last two the brighter."""

    def __init__(self, env: Env, skip: int = 4, *, takes_maximum: bool = False) -> None:
        if skip < 1:
            raise ValueError(f"skip must be 1 or more, got {skip}")
        super().__init__(env)
        self._skip, self._takes_maximum = skip, takes_maximum

    def step(self, action: Any) -> Step:
        total, seen = 0.0, deque[Any](maxlen=2)
        for _ in range(self._skip):
            frame, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            seen.append(frame)
            if terminated or truncated:
                break
        shown = np.maximum(seen[0], seen[-1]) if self._takes_maximum else seen[-1]
        return shown, total, terminated, truncated, info


class FusedPreprocessWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Frames to what an agent sees, in one: skipped, grey, 84 x 84 by area, stacked to [frame_stack, 84, 84].

    uint8, or float32 in 0..1. The first frame of an episode stands for all of them.
    """

    def __init__(
        self,
        env: Env,
        *,
        frame_skip: int = 4,
        frame_stack: int = 4,
        takes_maximum: bool = False,
        float_observations: bool = False,
    ) -> None:
        super().__init__(FrameSkip(env, frame_skip, takes_maximum=takes_maximum))
        shape, is_float = (frame_stack, SIZE, SIZE), float_observations
        self._stack: npt.NDArray[np.uint8] = np.zeros(shape, np.uint8)
        self._is_float = is_float
        high, dtype = (1.0, np.float32) if is_float else (255, np.uint8)
        self.observation_space = spaces.Box(0, high, shape, dtype)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        frame, info = self.env.reset(seed=seed, options=options)
        self._stack[:] = shrink(frame)
        return self._shown(), info

    def step(self, action: Any) -> Step:
        frame, reward, terminated, truncated, info = self.env.step(action)
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = shrink(frame)
        return self._shown(), float(reward), terminated, truncated, info

    def _shown(self) -> Any:
        return scaled(self._stack) if self._is_float else self._stack.copy()


class MarioRewardWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds points of the game's score, and a bonus or a penalty once, where an episode ends by itself.

    scale * (reward + score_reward * gained score + flag_bonus or - failure_penalty)
    """

    def __init__(
        self,
        env: Env,
        *,
        score_reward: float = 0.00025,
        flag_bonus: float = 0.5,
        failure_penalty: float = 0.25,
        scale: float = 1.0,
    ) -> None:
        super().__init__(env)
        self._score_reward, self._scale = score_reward, scale
        self._flag_bonus, self._failure_penalty = flag_bonus, failure_penalty
        self._score = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._score = int(info.get("score", 0))  # gym-super-mario-bros tells nothing before the first step
        return observation, info

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        earned = float(reward) + self._score_reward * max(0, int(info["score"]) - self._score)
        self._score = int(info["score"])
        if terminated:
            earned += self._flag_bonus if info["flag_get"] else -self._failure_penalty
        return observation, self._scale * earned, terminated, truncated, info


class ProgressInfoWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds `max_x_pos`, the furthest of the episode, and whether it `terminated` or was `truncated`, to the info."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._max_x = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._max_x = int(info.get("x_pos", 0))
        return observation, {**info, "max_x_pos": self._max_x, "terminated": False, "truncated": False}

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._max_x = max(self._max_x, int(info["x_pos"]))
        known = {"max_x_pos": self._max_x, "terminated": terminated, "truncated": truncated}
        return observation, float(reward), terminated, truncated, {**info, **known}
