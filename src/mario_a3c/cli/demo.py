"""`mario demo`: a tour of stages, played by the published agents, as a video."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import AgentArguments
from mario_a3c.cli.how_far import HowFar
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.options import option

if TYPE_CHECKING:
    from mario_a3c.evaluation.drawing import Picture
    from mario_a3c.evaluation.episodes import EpisodeResult
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.evaluation.tour import Scene
    from mario_a3c.native.rom import Rom
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import Agent
    from mario_a3c.training.release import Release

LOG = logging.getLogger("mario.demo")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(AgentArguments):
    """Play a tour of stages with the published agents, and make one video of it."""

    stages: str = option("all", "stages to play, like 1-1,8-4 or 1-1..2-4, or all that there is an agent for")
    output: Path = option(Path("output/demo.mp4"), "the video")
    seed: int = option(0, "what the drawn actions depend on")
    tries: int = option(4, "episodes of a stage at most; the first one that clears it is shown")
    max_seconds: float = option(110.0, "length of the video: it runs faster where it would take longer")
    agents: Path | None = option(None, "folder of the agents; by default pretrained, in the repository")

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 62:
            raise ConfigError(f"--seed must be in [0, 2^62), got {self.seed}")
        if not 1 <= self.tries <= 1000:
            raise ConfigError(f"--tries must be in [1, 1000], got {self.tries}")
        if not 10 <= self.max_seconds <= 3600:
            raise ConfigError(f"--max-seconds must be in [10, 3600], got {self.max_seconds:g}")
        if self.output.suffix != ".mp4":
            raise ConfigError(f"--output is called *.mp4, got {self.output}")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario demo")
    from mario_a3c.evaluation.files import expect_writable
    from mario_a3c.training.release import find_release
    from mario_a3c.video import load_av

    load_av()
    release = find_release(arguments.agents)
    expect_writable(arguments.output)
    started = time.monotonic()
    cache = CacheDir.open(arguments.cache)
    scenes, rom = play_tour(release, arguments, cache)
    seconds = film(scenes, rom, arguments, cache)
    num_cleared = sum(scene.result.is_clear for scene in scenes)
    print(
        f"{num_cleared} of {len(scenes)} stages cleared; {arguments.output}, {seconds:.0f} s, made in "
        f"{time.monotonic() - started:.0f} s"
    )
    return ExitCode.DONE


def play_tour(release: "Release", arguments: Arguments, cache: CacheDir) -> "tuple[list[Scene], Rom]":
    """One scene for each stage, in the stages' order."""
    from mario_a3c.envs.stages import parse_stages
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.evaluation.tour import Scene
    from mario_a3c.models.execution import choose_device
    from mario_a3c.native.start_states import start_states
    from mario_a3c.training.agent import load_agent
    from mario_a3c.training.release import kind_of

    chosen = parse_stages(arguments.stages, release.stages)
    scenes: dict[Stage, Scene] = {}
    for published in release.agents:
        own = [stage for stage in chosen if stage in published.stages]
        if not own:
            continue
        agent = load_agent(published.path)
        env = agent.config.vector_env.env
        rom = arguments.rom_for(agent, cache)
        starts = start_states(rom, cache)
        player = NetworkPlayer(agent.model, choose_device(arguments.device))
        kind = kind_of(agent.config)
        for stage, tries in play_until_cleared(player, agent, own, arguments, cache).items():
            best = max(tries, key=lambda each: (each.is_clear, each.progress))
            scenes[stage] = Scene(best, env, starts[stage], kind, len(tries))
            told = f"{scenes[stage].outcome} ({best.end_reason} after {best.num_frames / 60:.0f} s)"
            print(f"{stage}  {kind} {published.path.stem}: {told}", flush=True)
    return [scenes[stage] for stage in chosen], rom


def play_until_cleared(
    player: "NetworkPlayer", agent: "Agent", stages: "Sequence[Stage]", arguments: Arguments, cache: CacheDir
) -> "dict[Stage, list[EpisodeResult]]":
    """The tries of each stage, up to the first that clears it. Most first ones do; where one has failed, lanes that
    would be idle make the next tries already."""
    from mario_a3c.evaluation.episodes import EpisodeSpec
    from mario_a3c.evaluation.runner import play_episodes
    from mario_a3c.native.cores import num_cores

    arenas = arguments.arenas_for(agent, player, cache)
    num_lanes = player.num_lanes * (player.max_threads or num_cores())
    tries: dict[Stage, list[EpisodeResult]] = {stage: [] for stage in stages}
    while left := [stage for stage, made in tries.items() if not _is_over(made, arguments.tries)]:
        made = len(tries[left[0]])
        each = min(arguments.tries - made, max(1, num_lanes // len(left))) if made else 1
        specs = [EpisodeSpec(stage, "sampled", made + number) for stage in left for number in range(each)]
        LOG.info("%s: %d episodes of %d stages", agent.metadata.get("run", "agent"), len(specs), len(left))
        how_far = HowFar(len(specs), "episodes", LOG)
        for result in play_episodes(player, arenas, specs, seed=arguments.seed, on_episode=how_far.one_more):
            if not _is_over(tries[result.spec.stage], arguments.tries):
                tries[result.spec.stage].append(result)
    return tries


def _is_over(made: "Sequence[EpisodeResult]", most: int) -> bool:
    return len(made) >= most or any(each.is_clear for each in made)


def film(scenes: "Sequence[Scene]", rom: "Rom", arguments: Arguments, cache: CacheDir) -> float:
    """Writes the video; how many seconds it takes."""
    from mario_a3c.evaluation.tour import FRAMES_PER_SECOND, film_tour, plan_tour
    from mario_a3c.native.console import Console
    from mario_a3c.video import write_video

    plan = plan_tour(scenes, arguments.max_seconds)
    LOG.info("filming: %.0f s, %d times as fast as the game", plan.seconds, plan.speed)

    def make_console() -> Console:
        return Console(rom.path, arguments.engine.engine, cache=cache, allow_unknown_rom=True)

    pictures = with_progress(film_tour(scenes, plan, make_console), plan.num_pictures)
    write_video(arguments.output, pictures, frames_per_second=FRAMES_PER_SECOND, scale=plan.scale)
    return plan.seconds


def with_progress(pictures: "Iterator[Picture]", num_pictures: int) -> "Iterator[Picture]":
    how_far = HowFar(num_pictures, "pictures", LOG)
    for picture in pictures:
        yield picture
        how_far.one_more()
