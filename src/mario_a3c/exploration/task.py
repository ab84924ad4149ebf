"""What is searched: a stage, and what an agent can do in it. The search does nothing that the agent could not."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.actions import action_names, parse_action
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.recording import Recording, StepChoices, runs_of
from mario_a3c.native.bindings import GameRecord, Goal
from mario_a3c.native.console import Console
from mario_a3c.native.rom import Rom
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import Stage, start_states

_MAX_IDLE_FRAMES = 2000  # as in the search


@dataclass(frozen=True, slots=True)
class StageTask:
    """A stage from its start, with an action set, the length of a step, and what is to be reached."""

    rom: Rom = field(repr=False)
    stage: Stage
    start_state: bytes = field(repr=False)
    actions: tuple[str, ...]
    frame_skip: int
    skip_idle: bool
    goal: Goal = Goal.CLEAR

    @property
    def buttons(self) -> list[int]:
        return [parse_action(name) for name in self.actions]

    @property
    def key(self) -> str:
        """Names everything a result depends on, for files."""
        choices = json.dumps([self.buttons, self.frame_skip, self.skip_idle])
        digest = hashlib.sha256(choices.encode()).hexdigest()[:12]
        goal = "" if self.goal is Goal.CLEAR else f"-{self.goal.name.lower()}"
        return f"{self.rom.cartridge.sha1[:16]}-{self.stage}-{digest}{goal}"


def stage_tasks(rom: Rom, cache: CacheDir, stages: Iterable[Stage], env: MarioEnvConfig) -> list[StageTask]:
    """What agents with this environment's actions and steps face in these stages."""
    states = start_states(rom, cache)
    names = tuple(action_names(env))
    return [StageTask(rom, stage, states[stage], names, env.frame_skip, env.skip_idle) for stage in stages]


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step of a path: what was pressed in each of its frames, and the game after it."""

    presses: list[int]
    game: GameRecord


def play_path(task: StageTask, path: ActionPath, console: Console) -> Iterator[PlayedStep]:
    """Plays a path from the stage's start, step by step, as the search and the environments do."""
    console.load(task.start_state)
    buttons = task.buttons
    for action in path:
        presses = [buttons[action]] * task.frame_skip
        console.run_frame(buttons[action], task.frame_skip)
        game = console.game()
        while task.skip_idle and not (game.has_control or is_over(game)) and len(presses) < _MAX_IDLE_FRAMES:
            console.run_frame(0)
            presses.append(0)
            game = console.game()
        yield PlayedStep(presses, game)


def is_over(game: GameRecord) -> bool:
    return bool(game.is_stage_clear or game.is_losing_life or game.is_game_over)


def record_path(task: StageTask, path: ActionPath, console: Console, made_by: str) -> Recording:
    """A path as a recording, played once to know its frames."""
    presses = [pressed for step in play_path(task, path, console) for pressed in step.presses]
    choices = runs_of(int(action) for action in path)
    steps = StepChoices(task.frame_skip, task.skip_idle, task.actions, choices)
    return replace(Recording.of(console, task.stage, presses), made_by=made_by, steps=steps)
