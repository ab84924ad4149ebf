"""`mario report`: what agents can do on every stage, beside others, as a page."""

import dataclasses
import logging
from collections.abc import Sequence
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
    from mario_a3c.evaluation.config import Mode
    from mario_a3c.evaluation.episodes import EpisodeResult
    from mario_a3c.evaluation.players import Player
    from mario_a3c.evaluation.report import Contender, Report
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import Agent

LOG = logging.getLogger("mario.report")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(AgentArguments):
    """Evaluate checkpoints on all stages in all modes, and write a page with tables, plots, pictures and videos."""

    checkpoints: tuple[Path, ...] = option(
        (), "files of checkpoints, runs' folders, or a folder of published agents: pretrained", positional=True
    )
    stages: str = option("all", "stages to play, like 1-1,8-4 or 1-1..2-4, or all")
    episodes: int = option(100, "episodes of each stage and mode")
    seed: int = option(0, "what every random choice is drawn from")
    num_threads: int = option(0, "groups of episodes that are played at once; 0: one for each core")
    baselines: bool = option(True, "play also at random, and running to the right only")
    compare: Path | None = option(None, "report.json of an earlier report, to be shown beside this one")
    drawn_from: Path | None = option(
        None, "play nothing: draw the pages of this report.json again, with the episodes beside it", flag="--from"
    )
    pictures: bool = option(True, "pictures of where episodes ended, over the whole level")
    videos: bool = option(True, "a video of each agent on each stage")
    out: Path | None = option(None, "folder of the report; by default output/report, or that of --from")

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ConfigError(f"--episodes must be at least 1, got {self.episodes}")
        if self.drawn_from is not None and self.checkpoints:
            raise ConfigError("--from draws what was measured before, checkpoints are measured now: give one of them")

    @property
    def folder(self) -> Path:
        if self.out is not None:
            return self.out
        return Path("output/report") if self.drawn_from is None else self.drawn_from.parent


@dataclass(frozen=True, slots=True)
class Entrant:
    """Somebody to evaluate: agents, each with its own stages."""

    name: str
    agents: "Sequence[tuple[Path, Agent, Sequence[Stage]]]"

    @property
    def about(self) -> str:
        from mario_a3c.training.release import kind_of

        if len(self.agents) == 1:
            path, agent, _ = self.agents[0]
            steps = agent.metadata.get("global_step") or 0
            return f"{kind_of(agent.config)} {path.name}, {agent.weights} weights, {steps:,} steps"
        return f"{len(self.agents)} agents, each with stages of its own"


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario report")
    if not arguments.checkpoints and arguments.drawn_from is None:
        raise ConfigError(
            "name at least one checkpoint, a run's folder, or the published agents: mario report pretrained"
        )
    from mario_a3c.evaluation.files import expect_writable
    from mario_a3c.evaluation.report_files import write_pages, write_report

    expect_writable(arguments.folder / "report.html")
    cache = CacheDir.open(arguments.cache)
    if arguments.drawn_from is None:
        paths = write_report(measure(arguments, cache, argv), arguments.folder)
    else:
        paths = write_pages(draw_again(arguments, cache), arguments.folder)
    for path in paths:
        print(path)
    return ExitCode.DONE


def measure(arguments: Arguments, cache: CacheDir, argv: Sequence[str]) -> "Report":
    from mario_a3c.envs.stages import parse_stages
    from mario_a3c.evaluation.report import Report
    from mario_a3c.evaluation.report_files import read_report
    from mario_a3c.models.execution import choose_device
    from mario_a3c.native.start_states import stages_of
    from mario_a3c.training.identity import versions

    earlier = None if arguments.compare is None else read_report(arguments.compare)
    entrants = find_entrants(arguments)
    agents = [agent for entrant in entrants for _, agent, _ in entrant.agents]
    env = agents[0].config.vector_env.env
    rom = arguments.rom_of(env, cache)
    for agent in agents:
        if not arguments.any_rom:
            agent.expect_rom(rom)
    stages = parse_stages(arguments.stages, stages_of(rom))
    contenders = [judge(number, entrant, stages, arguments, cache) for number, entrant in enumerate(entrants)]
    if arguments.baselines:
        contenders += judge_baselines(agents[0], stages, arguments, cache)
    made_with = {
        "command": " ".join(["mario report", *argv]), "device": str(choose_device(arguments.device)),
        "game": env.game, "graphics": env.graphics, "rom": rom.title, "rom_sha1": rom.cartridge.sha1,
        **{name: versions()[name] for name in ("version", "code_revision", "torch", "numpy")},
    }  # fmt: skip
    return Report(contenders, [str(stage) for stage in stages], arguments.episodes, arguments.seed, earlier, made_with)


def draw_again(arguments: Arguments, cache: CacheDir) -> "Report":
    """What was measured on one machine, with the pictures that this one can draw. For videos one has to play."""
    from mario_a3c.envs.config import MarioEnvConfig
    from mario_a3c.evaluation.report_files import load_report, read_report
    from mario_a3c.evaluation.report_media import draw_pictures

    assert arguments.drawn_from is not None
    earlier = None if arguments.compare is None else read_report(arguments.compare)
    report = dataclasses.replace(load_report(arguments.drawn_from), earlier=earlier)
    if not arguments.pictures:
        return report
    game = {name: report.made_with[name] for name in ("game", "graphics") if name in report.made_with}
    studio = arguments.studio_of(MarioEnvConfig(**game), cache)
    contenders = [
        each
        if each.is_baseline
        else dataclasses.replace(each, pictures=draw_pictures(studio, each.results, arguments.folder, f"agent{number}"))
        for number, each in enumerate(report.contenders)
    ]
    return dataclasses.replace(report, contenders=contenders)


def find_entrants(arguments: Arguments) -> list[Entrant]:
    """Every checkpoint is one; published agents are one together."""
    from mario_a3c.training.agent import find_checkpoint, load_agent
    from mario_a3c.training.release import is_release, read_release

    loaded = {}
    for named in arguments.checkpoints:
        if not is_release(named):
            path = find_checkpoint(named, Path("trained_models"))
            loaded[named] = path, load_agent(path)
    names = dict(zip(loaded, unique_names([agent for _, agent in loaded.values()]), strict=True))
    entrants = []
    for named in arguments.checkpoints:
        if named in loaded:
            entrants.append(Entrant(names[named], [(*loaded[named], ())]))
            continue
        release = read_release(named)
        if release.chosen_with_seed == arguments.seed:
            LOG.warning("these agents were chosen by the episodes of --seed %d: take another one", arguments.seed)
        agents = [(each.path, load_agent(each.path), each.stages) for each in release.agents]
        entrants.append(Entrant(f"published agents ({named.name})", agents))
    return entrants


def unique_names(agents: "Sequence[Agent]") -> list[str]:
    names = [f"{agent.metadata.get('run', 'agent')} at update {agent.update:,}" for agent in agents]
    return [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]


def judge(
    number: int, entrant: Entrant, stages: "Sequence[Stage]", arguments: Arguments, cache: CacheDir
) -> "Contender":
    """Each stage is played by whoever it belongs to; without any such rule, by all that there are."""
    from mario_a3c.evaluation.report import AgentFile, Contender
    from mario_a3c.evaluation.report_media import draw_pictures, film_stages, training_curves
    from mario_a3c.training.release import kind_of

    films, slug = will_film(arguments), f"agent{number}"
    results: list[EpisodeResult] = []
    files: dict[str, AgentFile] = {}
    videos: dict[str, str] = {}
    for path, agent, own in entrant.agents:
        chosen = [stage for stage in stages if not own or stage in own]
        if not chosen:
            continue
        name = f"{entrant.name}, {path.name}" if len(entrant.agents) > 1 else entrant.name
        played = play_agent(agent, name, chosen, arguments, cache, with_traces=films)
        results += played
        files.update({str(stage): AgentFile(path.name, kind_of(agent.config)) for stage in chosen})
        if films:
            studio = arguments.studio_of(agent.config.vector_env.env, cache)
            videos.update(film_stages(studio, played, arguments.folder, slug))
    if not results:
        raise ConfigError(f"{entrant.name} have no agent for --stages {arguments.stages}")
    results.sort(key=lambda each: stages.index(each.spec.stage))
    pictures: dict[str, str] = {}
    if arguments.pictures:
        studio = arguments.studio_of(entrant.agents[0][1].config.vector_env.env, cache)
        pictures = draw_pictures(studio, results, arguments.folder, slug)
    curves = training_curves(entrant.agents[0][0].resolve().parent) if len(entrant.agents) == 1 else []
    return Contender(entrant.name, entrant.about, results, curves, pictures, videos, agents=files)


def will_film(arguments: Arguments) -> bool:
    from mario_a3c.video import MISSING, can_write_videos

    if arguments.videos and not can_write_videos():
        LOG.warning("no videos: %s", MISSING)
    return arguments.videos and can_write_videos()


def play_agent(
    agent: "Agent", name: str, stages: "Sequence[Stage]", arguments: Arguments, cache: CacheDir, *, with_traces: bool
) -> "list[EpisodeResult]":
    from mario_a3c.evaluation.config import MODES
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.models.execution import choose_device

    player = NetworkPlayer(agent.model, choose_device(arguments.device))
    return play(player, name, agent, stages, MODES, arguments, cache, with_traces=with_traces)


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
    from mario_a3c.evaluation.episodes import list_episodes
    from mario_a3c.evaluation.runner import play_episodes

    specs = list_episodes(stages, modes, arguments.episodes)
    LOG.info("%s: %s episodes", name, f"{len(specs):,}")
    return play_episodes(
        player, arguments.arenas_for(agent, player, cache), specs,
        seed=arguments.seed, num_threads=arguments.num_threads, with_traces=with_traces,
        on_episode=HowFar(len(specs), "episodes", LOG).one_more,
    )  # fmt: skip
