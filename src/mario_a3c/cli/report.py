"""`mario report`: what agents can do on every stage, beside others, as a page."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.cli.eval import EpisodeLines
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ConfigError, ExitCode
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.evaluation.config import Mode
    from mario_a3c.evaluation.episodes import EpisodeResult
    from mario_a3c.evaluation.players import Player
    from mario_a3c.evaluation.plots import Curve
    from mario_a3c.evaluation.report import Contender
    from mario_a3c.evaluation.videos import Studio
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import Agent

LOG = logging.getLogger("mario.report")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Evaluate checkpoints on all stages in all modes, and write a page with tables, plots, pictures and videos."""

    checkpoints: tuple[Path, ...] = option((), "files of checkpoints, or runs' folders", positional=True)
    stages: str = option("all", "stages to play, like 1-1,8-4 or 1-1..2-4, or all")
    episodes: int = option(100, "episodes of each stage and mode")
    seed: int = option(0, "what every random choice is drawn from")
    num_threads: int = option(0, "groups of episodes that are played at once; 0: one for each core")
    baselines: bool = option(True, "play also at random, and running to the right only")
    compare: Path | None = option(None, "report.json of an earlier report, to be shown beside this one")
    videos: bool = option(True, "a video of each agent on each stage")
    out: Path = option(Path("output/report"), "folder of the report")
    any_rom: bool = option(False, "play also on another cartridge than an agent was trained on")
    device: str = option("best", "where the networks compute: best, auto, cpu, cuda or cuda:N")
    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ConfigError(f"--episodes must be at least 1, got {self.episodes}")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario report")
    if not arguments.checkpoints:
        raise ConfigError("name at least one checkpoint, or a run's folder: mario report trained_models/RUN")
    from mario_a3c.envs.stages import parse_stages
    from mario_a3c.evaluation.files import expect_writable
    from mario_a3c.evaluation.report import Report, read_report, write_report
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import stages_of
    from mario_a3c.training.agent import find_checkpoint, load_agent

    expect_writable(arguments.out / "report.html")
    earlier = None if arguments.compare is None else read_report(arguments.compare)
    cache = CacheDir.open(arguments.cache)
    paths = [find_checkpoint(path, Path("trained_models")) for path in arguments.checkpoints]
    agents = [load_agent(path) for path in paths]
    env = agents[0].config.vector_env.env
    rom = locate_rom(arguments.rom, cache, game=env.game, graphics=env.graphics)
    for agent in agents:
        if not arguments.any_rom:
            agent.expect_rom(rom)
    stages = parse_stages(arguments.stages, stages_of(rom))
    names = unique_names(agents)
    contenders = [
        judge_agent(number, agent, name, path, stages, arguments, cache)
        for number, (agent, name, path) in enumerate(zip(agents, names, paths, strict=True))
    ]
    if arguments.baselines:
        contenders += judge_baselines(agents[0], stages, arguments, cache)
    report = Report(contenders, [str(stage) for stage in stages], arguments.episodes, arguments.seed, earlier)
    for path in write_report(report, arguments.out):
        print(path)
    return ExitCode.DONE


def unique_names(agents: "Sequence[Agent]") -> list[str]:
    names = [f"{agent.metadata.get('run', 'agent')} at update {agent.update:,}" for agent in agents]
    return [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]


def judge_agent(
    number: int, agent: "Agent", name: str, path: Path, stages: "Sequence[Stage]", arguments: Arguments, cache: CacheDir
) -> "Contender":
    from mario_a3c.evaluation.config import MODES
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.evaluation.report import Contender
    from mario_a3c.models.execution import choose_device

    player = NetworkPlayer(agent.model, choose_device(arguments.device))
    results = play(player, name, agent, stages, MODES, arguments, cache, with_traces=arguments.videos)
    studio = studio_of(agent, arguments, cache)
    return Contender(
        name=name,
        about=f"{agent.weights} weights, {agent.metadata.get('global_step') or 0:,} steps",
        results=results,
        training=training_curves(path.resolve().parent),
        pictures=draw_pictures(studio, results, arguments.out, f"agent{number}"),
        videos=film(studio, results, arguments.out, f"agent{number}") if arguments.videos else {},
    )


def judge_baselines(
    agent: "Agent", stages: "Sequence[Stage]", arguments: Arguments, cache: CacheDir
) -> "list[Contender]":
    """With the agent's own actions."""
    from mario_a3c.evaluation.players import ConstantPlayer, RandomPlayer
    from mario_a3c.evaluation.report import Contender

    actions = agent.actions
    players: dict[str, Player] = {"random": RandomPlayer(len(actions))}
    right = next((action for action in ("right+B", "right") if action in actions), None)
    if right is not None:
        players["right only"] = ConstantPlayer(actions.index(right))
    return [
        Contender(
            name=name,
            about="a simple player",
            results=play(player, name, agent, stages, ("sampled",), arguments, cache),
            is_baseline=True,
        )
        for name, player in players.items()
    ]


def play(
    player: "Player", name: str, agent: "Agent", stages: "Sequence[Stage]", modes: "Sequence[Mode]",
    arguments: Arguments, cache: CacheDir, *, with_traces: bool = False,
) -> "list[EpisodeResult]":  # fmt: skip
    from mario_a3c.evaluation.arena import MarioArenas
    from mario_a3c.evaluation.episodes import list_episodes
    from mario_a3c.evaluation.runner import play_episodes

    specs = list_episodes(stages, modes, arguments.episodes)
    LOG.info("%s: %s episodes", name, f"{len(specs):,}")
    lines = EpisodeLines(specs, write=lambda line: None)
    arenas = MarioArenas(agent.config.vector_env.env, arguments.rom, arguments.engine, cache)
    return play_episodes(
        player, arenas, specs,
        seed=arguments.seed, num_threads=arguments.num_threads, on_episode=lines.show, with_traces=with_traces,
    )  # fmt: skip


def studio_of(agent: "Agent", arguments: Arguments, cache: CacheDir) -> "Studio":
    from mario_a3c.evaluation.videos import Studio
    from mario_a3c.native.rom import locate_rom
    from mario_a3c.native.start_states import start_states

    env = agent.config.vector_env.env
    rom = locate_rom(arguments.rom, cache, game=env.game, graphics=env.graphics)
    return Studio(rom, arguments.engine.engine, cache, start_states(rom, cache), env)


def draw_pictures(studio: "Studio", results: "Sequence[EpisodeResult]", out: Path, slug: str) -> dict[str, str]:
    from mario_a3c.envs.png import write_png
    from mario_a3c.errors import RomError
    from mario_a3c.evaluation.ends_picture import draw_ends

    names: dict[str, str] = {}
    for stage in dict.fromkeys(each.spec.stage for each in results):
        # Greedy play is one trajectory, which a hundred discs in one place would make too much of.
        played = [each for each in results if each.spec.stage == stage and each.spec.mode != "greedy"]
        try:
            picture = draw_ends(played, studio.console(), studio.starts[stage])
        except RomError as error:
            LOG.warning("no picture of %s: %s", stage, error)
            continue
        names[str(stage)] = f"{slug}_{stage}_ends.png"
        write_png(out / names[str(stage)], picture)
    return names


def film(studio: "Studio", results: "Sequence[EpisodeResult]", out: Path, slug: str) -> dict[str, str]:
    from mario_a3c.training.evaluating import best_of
    from mario_a3c.video import MISSING, can_write_videos, write_video

    if not can_write_videos():
        LOG.warning("no videos: %s", MISSING)
        return {}
    names: dict[str, str] = {}
    for stage in dict.fromkeys(each.spec.stage for each in results):
        best = best_of([each for each in results if each.spec.stage == stage])
        names[str(stage)] = f"{slug}_{stage}.mp4"
        write_video(out / names[str(stage)], studio.film(best, with_overlay=True), frames_per_second=60, scale=2)
        LOG.info("wrote %s", out / names[str(stage)])
    return names


def training_curves(folder: Path) -> "list[Curve]":
    """From what a run wrote about itself, where the checkpoint still lies in its folder."""
    from mario_a3c.evaluation.plots import Curve

    sources = {"training": "metrics.jsonl", "evaluation": "evaluations.jsonl"}
    found = []
    for name, file in sources.items():
        records = [record for record in read_lines(folder / file) if record.get("clear_rate") is not None]
        points = [(float(each["global_step"]), float(each["clear_rate"])) for each in records if "global_step" in each]
        if points:
            found.append(Curve(name, sorted(points)))
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Records of a file that may still be written to: a last line that is not whole is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records
