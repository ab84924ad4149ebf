"""Places to evaluate in, and agents to evaluate, that need neither the game nor training."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.checkpoint.store import save_checkpoint
from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import Bools
from mario_a3c.evaluation.config import Mode
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.native.game_record import GAME_DTYPE
from mario_a3c.native.start_states import Stage
from tests.support.tasks import Corridor, Task
from tests.support.tiny_batches import ACTIONS


class TaskArena:
    """A small task in place of the game. Its modes are all alike."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.observations = task.observations
        self.final_episodes = task.final_episodes
        self.final_games = np.zeros(task.num_envs, GAME_DTYPE)
        self.ended: Bools = np.zeros(task.num_envs, np.bool_)

    @property
    def num_frames(self) -> npt.NDArray[np.uint32]:
        steps = np.where(self.ended, self.final_episodes["num_steps"], self._task.episodes["num_steps"])
        return (4 * steps).astype(np.uint32)

    def begin(self, lanes: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64], stages: Sequence[Stage]) -> None:
        mask = np.zeros(self._task.num_envs, np.bool_)
        mask[lanes] = True
        all_seeds = np.zeros(self._task.num_envs, np.int64)
        all_seeds[lanes] = seeds.view(np.int64)
        self._task.reset(mask=mask, seed=all_seeds)
        self.ended[lanes] = False

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        self._task.step(actions)
        self.ended[:] = self._task.terminated | self._task.truncated

    def rest(self, lanes: npt.NDArray[np.int64]) -> None:
        pass

    def close(self) -> None:
        self._task.close()


def corridor_arena(_: Mode, num_lanes: int) -> TaskArena:
    return TaskArena(Corridor(num_lanes, frame_stack=2))


def tiny_agent_config(**env: Any) -> TrainingConfig:
    """Of an agent for the home-made game of `tiny_game`."""
    config = MarioEnvConfig(
        **{
            "action_set": "custom",
            "actions": ACTIONS,
            "frame_stack": 2,
            "stall_steps": 40,
            "max_episode_steps": 60,
            **env,
        }
    )
    model = ModelConfig(backbone="nature", hidden_size=16, recurrent_type="gru", recurrent_hidden_size=8)
    return TrainingConfig(vector_env=MarioVectorEnvConfig(env=config), model=model)


def write_agent(path: Path, config: TrainingConfig, *, metadata: dict[str, Any] | None = None, **state: Any) -> Path:
    """A checkpoint of an agent that has learned nothing, as a run would have written it."""
    env = config.vector_env.env
    model = MarioActorCritic(config.model, len(env.actions), (env.frame_stack, 84, 84))
    weights = {name: each.detach() for name, each in model.named_parameters()}
    learner = {"model": weights, "averaged": {"num_updates": 3, "weights": weights}}
    described = {
        "run": "untrained",
        "update": 3,
        "global_step": 99,
        "actions": list(env.actions),
        "config": json.loads(to_json(replace(config, model=config.model))),
        **(metadata or {}),
    }
    return save_checkpoint(path, {"learner": learner, **state}, described)
