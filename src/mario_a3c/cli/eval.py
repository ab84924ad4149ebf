"""`mario eval` and `python test.py`."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.arguments import AgentArguments
from mario_a3c.cli.how_far import HowFar
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ExitCode
from mario_a3c.evaluation.config import PROGRESS_UNIT, EvaluationConfig, VideoConfig
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.envs.play import Screen
    from mario_a3c.evaluation.episodes import EpisodeResult, EpisodeSpec
    from mario_a3c.evaluation.summary import Summary
    from mario_a3c.evaluation.videos import Studio
    from mario_a3c.native.rom import Rom
    from mario_a3c.native.start_states import Stage
    from mario_a3c.training.agent import Agent

LOG = logging.getLogger("mario.eval")
_PROGRESS = f"progress, {PROGRESS_UNIT.value}"  # a column's head


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments(AgentArguments):
    """Play episodes with a checkpoint and say how each went, and how often the stage is cleared."""

    checkpoint: Path | None = option(
        None, "file of a checkpoint, or a run's folder; by default the latest of the newest run in trained_models"
    )
    stages: str | None = option(
        None, "stages to play, like 1-1,8-4 or 1-1..2-4, or all; by default those it was trained on"
    )
    weights: Literal["auto", "averaged", "last"] = option(
        "auto",
        "which weights play: the last, or averaged ones; auto: averaged once they span a quarter of the run at most",
    )
    evaluation: EvaluationConfig = section(EvaluationConfig)
    json: Path | None = option(None, "write the settings, every episode and the summaries to this file")
    csv: Path | None = option(None, "write a table of the episodes to this file")
    recordings: Path | None = option(None, "write every episode to this folder, for `mario replay`")
    videos: VideoConfig = section(VideoConfig)
    render: bool = option(False, "show the episodes in a window, with the agent's input and thoughts")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario eval")
    from mario_a3c.envs.window import load_pygame
    from mario_a3c.evaluation.files import expect_writable, write_csv, write_json
    from mario_a3c.evaluation.summary import cleared_stages, summarize
    from mario_a3c.video import load_av

    for path in outputs_of(arguments):
        expect_writable(path)
    if arguments.videos.video != "none":
        load_av()
    if arguments.render:
        load_pygame()  # before anything is played for nothing
    evaluated = evaluate(arguments, CacheDir.open(arguments.cache))
    if arguments.json is not None:
        write_json(arguments.json, evaluated.results, evaluated.about)
    if arguments.csv is not None:
        write_csv(arguments.csv, evaluated.results)
    summaries = summarize(evaluated.results)
    print(*summary_lines(summaries, cleared_stages(summaries)), sep="\n")
    return ExitCode.DONE


def outputs_of(arguments: Arguments) -> list[Path]:
    """Files that will be written, or stand for those of a folder."""
    folders = [arguments.recordings, arguments.videos.video_dir if arguments.videos.video != "none" else None]
    files = [arguments.json, arguments.csv, *(folder / "file" for folder in folders if folder is not None)]
    return [path for path in files if path is not None]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What was played, and everything that it depended on."""

    agent: "Agent"
    results: "list[EpisodeResult]"
    about: dict[str, Any]


def evaluate(arguments: Arguments, cache: CacheDir) -> Evaluated:
    from mario_a3c.evaluation.episodes import list_episodes
    from mario_a3c.evaluation.players import NetworkPlayer
    from mario_a3c.evaluation.runner import play_episodes
    from mario_a3c.models.execution import choose_device
    from mario_a3c.training.agent import find_checkpoint, load_agent

    path = find_checkpoint(arguments.checkpoint, Path("trained_models"))
    agent = load_agent(path, arguments.weights)
    rom = arguments.rom_for(agent, cache)
    specs = list_episodes(
        stages_of_evaluation(arguments, agent, rom), arguments.evaluation.modes, arguments.evaluation.episodes
    )
    device = choose_device(arguments.device)
    LOG.info(
        "%s, update %s, %s weights, on %s; %d episodes", path, f"{agent.update:,}", agent.weights, device, len(specs)
    )
    player = NetworkPlayer(agent.model, device)
    lines = EpisodeLines(specs)
    print(lines.head())
    results = play_episodes(
        player, arguments.arenas_for(agent, player, cache), specs,
        seed=arguments.evaluation.seed, num_threads=arguments.evaluation.num_threads, on_episode=lines.show,
        with_traces=arguments.render or arguments.videos.video == "overlay",
    )  # fmt: skip
    show_and_keep(results, agent, arguments, cache)
    return Evaluated(agent, results, about(path, agent, arguments, rom))


def stages_of_evaluation(arguments: Arguments, agent: "Agent", rom: "Rom") -> "list[Stage]":
    from mario_a3c.envs.stages import parse_stages, stages_to_play
    from mario_a3c.native.start_states import stages_of

    if arguments.stages is not None:
        return parse_stages(arguments.stages, stages_of(rom))
    return stages_to_play(agent.config.vector_env.env, rom)


def about(path: Path, agent: "Agent", arguments: Arguments, rom: "Rom") -> dict[str, Any]:
    """What an evaluation depends on."""
    from mario_a3c import __version__

    return {
        "checkpoint": str(path),
        "run": agent.metadata.get("run"),
        "update": agent.update,
        "global_step": agent.metadata.get("global_step"),
        "weights": agent.weights,
        "seed": arguments.evaluation.seed,
        "rom": rom.title,
        "rom_sha1": rom.cartridge.sha1,
        "actions": list(agent.actions),
        "version": __version__,
        "written_at": time.time(),
    }


def show_and_keep(results: "Sequence[EpisodeResult]", agent: "Agent", arguments: Arguments, cache: CacheDir) -> None:
    """Recordings, videos and the window, where they are asked for."""
    from mario_a3c.evaluation.videos import write_videos

    studio = arguments.studio_of(agent.config.vector_env.env, cache)
    if arguments.recordings is not None:
        export_recordings(results, agent, studio, arguments.recordings)
    if arguments.videos.video != "none":
        for path in write_videos(studio, results, arguments.videos):
            LOG.info("wrote %s", path)
    if arguments.render:
        show_in_window(studio, results)


def export_recordings(results: "Sequence[EpisodeResult]", agent: "Agent", studio: "Studio", folder: Path) -> None:
    from mario_a3c.evaluation.replays import record_episode

    console = studio.console()
    made_by = f"mario eval, {agent.metadata.get('run')} at update {agent.update}"
    for result in results:
        recording = record_episode(result, studio.env, console, studio.start_of(result), made_by)
        recording.save(folder / f"{result.spec.name}.json")
    LOG.info("%d recordings are in %s; `mario replay` plays them", len(results), folder)


def show_in_window(studio: "Studio", results: "Sequence[EpisodeResult]", screen: "Screen | None" = None) -> None:
    """One after another at the game's speed; escape ends it."""
    from mario_a3c.envs.play import QUIT, names_of
    from mario_a3c.envs.window import Window

    screen = screen or Window("mario eval", scale=2)
    for result in results:
        for picture in studio.film(result, with_overlay=True):
            screen.show(picture)
            if QUIT in names_of(screen.pressed()):
                return


class EpisodeLines:
    """One line for each episode, in order however they end, and now and then how far it is."""

    def __init__(self, specs: "Sequence[EpisodeSpec]", write: Callable[[str], None] = print) -> None:
        self._specs, self._write = specs, write
        self._ended: dict[EpisodeSpec, EpisodeResult] = {}
        self._num_shown = 0
        self._lock = threading.Lock()
        self._how_far = HowFar(len(specs), "episodes", LOG)

    @staticmethod
    def head() -> str:
        return f"stage  mode     episode  return  {_PROGRESS}  steps  time left  flag  end"

    def show(self, result: "EpisodeResult") -> None:
        with self._lock:
            self._ended[result.spec] = result
            while self._num_shown < len(self._specs) and self._specs[self._num_shown] in self._ended:
                self._write(episode_line(self._ended[self._specs[self._num_shown]]))
                self._num_shown += 1
        self._how_far.one_more()


def episode_line(result: "EpisodeResult") -> str:
    spec, flag = result.spec, "yes" if result.is_clear else "no"
    progress = f"{PROGRESS_UNIT.text(result.progress):>{len(_PROGRESS)}}"
    return (
        f"{spec.stage!s:<6} {spec.mode:<8} {spec.number + 1:>7}  {result.total_reward:>6.2f}  "
        f"{progress}  {result.num_steps:>5}  {result.time_left:>9}  {flag:<4}  {result.end_reason}"
    )


def summary_lines(summaries: "Sequence[Summary]", cleared: dict[str, bool | None]) -> list[str]:
    lines = ["", f"stage  mode     cleared       rate  95 % interval   return  {_PROGRESS}  steps  ends"]
    for each in summaries:
        interval = (
            "one trajectory" if each.mode == "greedy" else f"{each.clear_rate_low:.0%} to {each.clear_rate_high:.0%}"
        )
        ends = ", ".join(f"{name} {count}" for name, count in each.end_reasons.items())
        progress = f"{PROGRESS_UNIT.text(each.mean_progress):>{len(_PROGRESS)}}"
        lines.append(
            f"{each.stage:<6} {each.mode:<8} {each.num_clears:>3} of {each.num_episodes:<4} {each.clear_rate:>6.0%}  "
            f"{interval:<14} {each.mean_return:>7.2f}  {progress}  {each.median_steps:>5.0f}  {ends}"
        )
    lines.append("")
    for stage, is_cleared in cleared.items():
        if is_cleared is None:
            lines.append(f"{stage}: not judged; a stage is cleared when --mode all --episodes 100 gives 95 of 100 each")
        else:
            words = "each reach" if is_cleared else "do not all reach"
            lines.append(f"{stage}: {'' if is_cleared else 'not '}cleared (sampled, noop and sticky {words} 95 of 100)")
    return lines
