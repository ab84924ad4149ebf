"""`mario watch`: looks on while an agent learns."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import GameArguments
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import CheckpointError, ConfigError, ExitCode
from mario_a3c.evaluation.config import Mode
from mario_a3c.options import option

if TYPE_CHECKING:
    from mario_a3c.envs.play import Screen
    from mario_a3c.evaluation.episodes import EpisodeResult
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import Agent

LOG = logging.getLogger("mario.watch")
_SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(GameArguments):
    """Show episodes of a run's newest weights in a window, one after another; escape ends it."""

    run: Path | None = option(None, "the run's folder; by default the newest run in trained_models", positional=True)
    mode: Mode = option("sampled", "how it plays: greedy, sampled, noop or sticky")
    episodes: int = option(0, "leave after so many; 0: when the window is closed")
    scale: int = option(2, "size of a pixel of the game on the screen")

    def __post_init__(self) -> None:
        if self.episodes < 0:
            raise ConfigError(f"--episodes must be 0 or more, got {self.episodes}")
        if not 1 <= self.scale <= 10:
            raise ConfigError(f"--scale must be in [1, 10], got {self.scale}")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario watch")
    from mario_a3c.envs.window import Window, load_pygame

    load_pygame()  # before anything is played for nothing
    watch(arguments, Window("mario watch", scale=arguments.scale))
    return ExitCode.DONE


def watch(arguments: Arguments, screen: "Screen") -> int:
    """How many episodes were shown. Each is played with the weights that are the newest when it begins."""
    from mario_a3c.envs.play import QUIT, names_of
    from mario_a3c.envs.stages import stages_to_play

    cache = CacheDir.open(arguments.cache)
    newest = NewestAgent(arguments.run)
    num_shown = 0
    while not arguments.episodes or num_shown < arguments.episodes:
        agent = newest.load()
        env = agent.config.vector_env.env
        studio = arguments.studio_of(env, cache)
        agent.expect_rom(studio.rom)
        stages = stages_to_play(env, studio.rom)
        result = play_one(agent, arguments, cache, stages[num_shown % len(stages)], num_shown)
        told = (f"{agent.update:,}", result.spec.stage, result.end_reason, result.num_steps)
        LOG.info("update %s, %s: %s after %d steps", *told)
        for picture in studio.film(result, with_overlay=True):
            screen.show(picture)
            if QUIT in names_of(screen.pressed()):
                return num_shown
        num_shown += 1
    return num_shown


def play_one(agent: "Agent", arguments: Arguments, cache: CacheDir, stage: "Stage", number: int) -> "EpisodeResult":
    import torch

    from mario_a3c.evaluation.arena import MarioArenas
    from mario_a3c.evaluation.episodes import EpisodeSpec
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.evaluation.runner import play_episodes

    arenas = MarioArenas(agent.config.vector_env.env, arguments.rom, arguments.engine, cache)
    # On the CPU: training may want all of the GPU.
    player = NetworkPlayer(agent.model, torch.device("cpu"))
    spec = EpisodeSpec(stage, arguments.mode, number)
    (result,) = play_episodes(player, arenas, [spec], seed=agent.update, num_threads=1, with_traces=True)
    return result


class NewestAgent:
    """Reads a run's latest checkpoint again when there is a newer one; waits for the first."""

    def __init__(self, run: Path | None) -> None:
        self._run = run
        self._seen: tuple[Path, int] | None = None
        self._agent: Agent | None = None

    def load(self) -> "Agent":
        from mario_a3c.training.agent import find_checkpoint, load_agent

        has_said = False
        while True:
            try:
                path = find_checkpoint(self._run, Path("trained_models")).resolve()
                seen = (path, path.stat().st_mtime_ns)
                if self._agent is None or seen != self._seen:
                    self._agent, self._seen = load_agent(path, "last"), seen
            except (CheckpointError, OSError) as error:
                if self._agent is not None:
                    return self._agent  # it was being replaced
                if self._run is None or not self._run.is_dir():
                    raise
                if not has_said:
                    LOG.info("waiting for the first checkpoint: %s", error)
                    has_said = True
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            else:
                return self._agent
