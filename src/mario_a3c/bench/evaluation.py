"""What an evaluation costs beside the passes of its network."""

import threading
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.arena import MarioArenas
from mario_a3c.evaluation.config import MODES
from mario_a3c.evaluation.episodes import list_episodes
from mario_a3c.evaluation.players import CPU_LANES, NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.models.actor_critic import MarioActorCritic, ModelOutput
from mario_a3c.models.memories import State
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.start_states import Stage


@dataclass(frozen=True, slots=True)
class EvaluationCost:
    """CPU seconds of all threads, which are not the machine's mood."""

    num_episodes: int
    num_steps: int  # that were played: greedy play once
    num_passes: int
    evaluation_seconds: float
    passes_seconds: float  # of them, inside the network

    @property
    def ratio(self) -> float:
        return self.evaluation_seconds / self.passes_seconds

    @property
    def lane_use(self) -> float:
        """Of the rows that were computed, those that belong to an episode."""
        return self.num_steps / (self.num_passes * CPU_LANES)


def measure_evaluation(
    model: MarioActorCritic, env: MarioEnvConfig, cache: CacheDir, *, num_episodes: int, stage: Stage
) -> EvaluationCost:
    """Plays the four modes, with a clock around every pass of the network."""
    player = NetworkPlayer(model, torch.device("cpu"))
    clock = PassClock(player.model)
    arenas = MarioArenas(env, RomConfig(), EngineConfig(engine="recompiled"), cache)
    specs = list_episodes([stage], MODES, num_episodes)
    before = time.process_time()
    results = play_episodes(player, arenas, specs, seed=0)
    seconds = time.process_time() - before
    played = {result.spec.as_played: result.num_steps for result in results}
    return EvaluationCost(len(results), sum(played.values()), clock.num_passes, seconds, clock.seconds)


class PassClock:
    """Counts the passes of a network and their CPU time, whichever thread makes them."""

    def __init__(self, model: MarioActorCritic) -> None:
        self._step = model.step
        self._lock = threading.Lock()
        self.num_passes, self.seconds = 0, 0.0
        model.step = self._timed  # type: ignore[method-assign]

    def _timed(self, observations: Tensor, episode_starts: Tensor, state: State) -> ModelOutput:
        before = time.thread_time()
        output = self._step(observations, episode_starts, state)
        taken = time.thread_time() - before
        with self._lock:
            self.num_passes += 1
            self.seconds += taken
        return output
