"""What a run does about evaluation: which tasks, what confirms that it may end, and what follows its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.stages import stages_to_play
from mario_a3c.evaluation.arena import MarioArenas
from mario_a3c.evaluation.videos import Studio
from mario_a3c.native.config import RomConfig
from mario_a3c.native.cores import num_cores
from mario_a3c.native.start_states import start_states
from mario_a3c.run_dir import RunDir
from mario_a3c.training.build import Training
from mario_a3c.training.clear_confirmation import ClearConfirmation
from mario_a3c.training.episode_videos import FilmEpisodes, can_film
from mario_a3c.training.evaluation_tasks import EvaluateBeside, EvaluateInTurn
from mario_a3c.training.evaluator import Evaluator, Place
from mario_a3c.training.final_evaluation import evaluate_finally
from mario_a3c.training.stopping import StopReason
from mario_a3c.training.trainer import Task

CONFIRMING_EPISODES = 400
# From one confirmation to the next, of each environment: with hundreds of them a window is full again in an instant,
# and a run would spend its time with being asked. Asking costs a GPU half a second, waiting too long costs more.
_EPISODES_BETWEEN = 2


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """What a run does about evaluation."""

    tasks: Sequence[Task] = ()
    confirms_clear: Callable[[], bool] = lambda: True
    confirm_margin: float = 0.0
    """How far below the clear rate training episodes may be when it is asked."""
    conclude: Callable[[StopReason], None] = lambda reason: None


def open_evaluation(
    config: TrainingConfig, training: Training, run_dir: RunDir, metadata: Mapping[str, Any]
) -> RunEvaluation:
    """Nothing at all where it is not the game that is played."""
    place = place_of(config, training)
    if place is None:
        return RunEvaluation()
    evaluator = Evaluator(config, training, place, run_dir.path, metadata)
    tasks = make_tasks(evaluator, is_gpu=is_on_gpu(training))

    def conclude(reason: StopReason) -> None:
        for task in tasks:
            if isinstance(task, EvaluateBeside):
                task.close()
        if config.evaluation.final_evaluation and reason is StopReason.CLEARED:
            evaluate_finally(evaluator)

    rate = config.budget.clear_rate_to_reach
    if rate is None or not config.evaluation.confirm_clear:
        return RunEvaluation(tasks, conclude=conclude)
    between = max(config.budget.clear_window, _EPISODES_BETWEEN * config.vector_env.num_envs)
    confirmation = ClearConfirmation(evaluator, rate, CONFIRMING_EPISODES, episodes_between=between)
    return RunEvaluation(tasks, confirmation.confirms, config.evaluation.confirm_margin, conclude)


def make_tasks(evaluator: Evaluator, *, is_gpu: bool) -> list[Task]:
    config, tasks = evaluator.config.evaluation, list[Task]()
    if config.eval_interval:
        tasks.append((EvaluateBeside if is_gpu else EvaluateInTurn)(evaluator, config.eval_interval))
    if config.video_interval and can_film(evaluator.place):
        tasks.append(FilmEpisodes(evaluator, config.video_interval))
    return tasks


def place_of(config: TrainingConfig, training: Training) -> Place | None:
    envs = training.envs[0]
    if not isinstance(envs, MarioBatch):
        return None
    cache = CacheDir.open(config.cache)
    env = config.vector_env.env
    rom = RomConfig(rom=envs.rom.path, allow_unknown_rom=True)
    num_threads = num_cores() if is_on_gpu(training) else 1
    arenas = MarioArenas(env, rom, config.engine, cache, num_threads=num_threads, keeps_consoles=True)
    studio = Studio(envs.rom, config.engine.engine, cache, start_states(envs.rom, cache), env)
    return Place(arenas, stages_to_play(env, envs.rom), studio)


def is_on_gpu(training: Training) -> bool:
    return torch.device(training.execution.device).type == "cuda"
