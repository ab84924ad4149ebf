"""Evaluated episodes as recordings, which `mario replay` plays, and of which videos are made."""

from collections.abc import Iterator

from mario_a3c.envs.actions import action_buttons, action_names
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.counter_rng import Draw, Purpose
from mario_a3c.envs.recording import Recording, StepChoices, runs_of
from mario_a3c.errors import SaveStateError
from mario_a3c.evaluation.arena import env_of_mode
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.native.console import Console


def held_actions(result: EpisodeResult, env: MarioEnvConfig) -> Iterator[int]:
    """Step by step what was held: the agent's choice, or the action before where it stuck."""
    sticky = env_of_mode(env, result.spec.mode).sticky
    held = 0  # nothing was chosen before the first step
    for step, action in enumerate(result.actions.tolist()):
        is_stuck = sticky > 0 and Draw(result.env_seed, 0, step).uniform(Purpose.STICKY) < sticky
        held = held if is_stuck else action
        yield held


def presses_of(result: EpisodeResult, env: MarioEnvConfig) -> Iterator[list[int]]:
    """Step by step, the buttons of every frame; before the first step, those of the idle frames (none)."""
    yield [0] * (result.num_frames - int(result.frames.sum()))
    buttons = action_buttons(env).tolist()
    for action, num_frames in zip(held_actions(result, env), result.frames.tolist(), strict=True):
        num_held = min(num_frames, env.frame_skip)
        yield [buttons[action]] * num_held + [0] * (num_frames - num_held)


def record_episode(
    result: EpisodeResult, env: MarioEnvConfig, console: Console, start: bytes, made_by: str
) -> Recording:
    """Plays the episode again on one console, and makes sure that it leads to the same end."""
    presses = [pressed for step in presses_of(result, env) for pressed in step]
    console.load(start)
    for pressed in presses:
        console.run_frame(pressed)
    game = console.game()
    if (game.clock, game.score, game.room) != (result.time_left, result.score, result.room):
        raise SaveStateError(
            f"episode {result.spec.name} does not lead to the same end when it is played again: time, score and room "
            f"are {game.clock}, {game.score}, {game.room}, they were {result.time_left}, {result.score}, {result.room}"
        )
    recording = Recording.of(console, result.spec.stage, presses)
    names = tuple(action_names(env))
    choices = StepChoices(env.frame_skip, env.skip_idle, names, runs_of(held_actions(result, env)))
    return Recording(
        recording.rom_sha1, recording.stage, recording.held, recording.memory, made_by=made_by, steps=choices
    )
