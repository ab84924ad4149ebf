"""A film of one run's learning, from its numbered checkpoints."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.checkpoint.names import all_numbered
from mario_a3c.checkpoint.sidecar import read_sidecar
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.envs.stages import parse_stages, stages_to_play
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.evaluation.arena import MakeArena, MarioArenas
from mario_a3c.evaluation.episodes import EpisodeSpec, list_episodes
from mario_a3c.evaluation.files import expect_writable
from mario_a3c.evaluation.learning_film import FRAMES_PER_SECOND, Moment, film_learning, spoken, write_small_gif
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import console_threads, play_episodes
from mario_a3c.evaluation.videos import Studio
from mario_a3c.models.execution import choose_device
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.start_states import stages_of, start_states
from mario_a3c.training.agent import Agent, load_agent, untrained
from mario_a3c.video import load_av, write_video

LOG = logging.getLogger("mario.film")


@dataclass(frozen=True, kw_only=True, slots=True)
class FilmConfig:
    """What a film of learning shows."""

    stage: str | None = None  # the first that the run is trained on
    num_moments: int = 6
    num_episodes: int = 8
    columns: int = 4
    speed: int = 4  # times as fast as the game
    clip_seconds: float = 3.0
    most_gif_bytes: int = 5_000_000
    seed: int = 0
    device: str = "best"

    def __post_init__(self) -> None:
        least = {"num_moments": 2, "num_episodes": 1, "columns": 1, "speed": 1, "clip_seconds": 0.1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                flag = "--" + name.removeprefix("num_").replace("_", "-")
                raise ConfigError(f"{flag} must be at least {lowest}, got {getattr(self, name)}")


def film_run(
    run: Path,
    config: FilmConfig,
    output: Path | None = None,
    *,
    rom: RomConfig | None = None,
    engine: EngineConfig | None = None,
    cache: CacheDir | None = None,
    is_rehearsal: bool = False,
) -> list[Path]:
    """Plays, films, and writes an MP4 and a GIF; a rehearsal only says which moments it would be."""
    output = output or run / "videos" / "learning.mp4"
    chosen = choose_moments(run, config.num_moments)
    for seconds, path in chosen:
        LOG.info("%s: %s", spoken(seconds), path or "the beginning")
    if is_rehearsal:
        return []
    load_av()
    expect_writable(output)
    rom, engine, cache = rom or RomConfig(), engine or EngineConfig(), cache or CacheDir.open(CacheConfig())
    last = load_agent(chosen[-1][1] or run)
    env = last.config.vector_env.env
    found = locate_rom(rom, cache, game=env.game, graphics=env.graphics)
    last.expect_rom(found)
    stages = parse_stages(config.stage, stages_of(found), "--stage") if config.stage else stages_to_play(env, found)
    arenas = MarioArenas(
        env, rom, engine, cache, console_threads(NetworkPlayer(last.model, choose_device(config.device)))
    )
    specs = list_episodes(stages[:1], ("sampled",), config.num_episodes)
    moments = play_moments(chosen, last, arenas, specs, config)
    studio = Studio(found, engine.engine, cache, start_states(found, cache), env)
    return write_film(moments, studio, output, config)


def write_film(moments: Sequence[Moment], studio: Studio, output: Path, config: FilmConfig) -> list[Path]:
    films = film_learning(
        moments, studio.env, studio.console, studio.start_of,
        columns=min(config.columns, config.num_episodes), speed=config.speed, clip_seconds=config.clip_seconds,
    )  # fmt: skip
    pictures = list(films)
    write_video(output, pictures, frames_per_second=FRAMES_PER_SECOND, scale=2)
    gif = output.with_suffix(".gif")
    rate = write_small_gif(gif, pictures, config.most_gif_bytes)
    LOG.info(
        "%s: %.0f s; %s: %.1f MB, %g pictures a second",
        output, len(pictures) / FRAMES_PER_SECOND, gif, gif.stat().st_size / 1e6, rate,
    )  # fmt: skip
    return [output, gif]


def play_moments(
    chosen: Sequence[tuple[float, Path | None]],
    last: Agent,
    arenas: MakeArena,
    specs: Sequence[EpisodeSpec],
    config: FilmConfig,
) -> list[Moment]:
    """With the weights that `mario eval` would have taken then: those that learn, later on their average."""
    moments = []
    started = time.monotonic()
    for number, (seconds, path) in enumerate(chosen, start=1):
        agent = untrained(last) if path is None else load_agent(path)
        player = NetworkPlayer(agent.model, choose_device(config.device))
        results = play_episodes(player, arenas, specs, seed=config.seed)
        moments.append(Moment(int(agent.metadata.get("global_step") or 0), seconds, results))
        left = (time.monotonic() - started) / number * (len(chosen) - number)
        LOG.info("%s: %s; about %.0f s of playing left", moments[-1].caption, moments[-1].score, left)
    return moments


def choose_moments(run: Path, num_moments: int) -> list[tuple[float, Path | None]]:
    """Seconds and checkpoints: the beginning (None), then about equal distances in time, the last one among them.

    A run that began with weights of another one is shown from its first checkpoint on.
    """
    checkpoints = [(_seconds_of(path), path) for path in all_numbered(run)]
    has_beginning = bool(checkpoints) and "initial_weights" not in _described(checkpoints[-1][1])
    num_wanted = num_moments - has_beginning
    if len(checkpoints) < num_wanted or not checkpoints:
        raise CheckpointError(
            f"{run} has {len(checkpoints)} numbered checkpoints, and {num_moments} moments need {num_wanted}: "
            "train with --keep-checkpoints 1000 --save-interval SECONDS, or show fewer moments"
        )
    chosen: list[tuple[float, Path | None]] = [(0.0, None)] if has_beginning else []
    left: Sequence[tuple[float, Path]] = checkpoints
    for number in range(1, num_wanted + 1):
        wanted = checkpoints[-1][0] * number / num_wanted
        here = left[: len(left) - (num_wanted - number)]  # the others leave enough for those to come
        nearest = min(range(len(here)), key=lambda place: abs(here[place][0] - wanted))
        chosen.append(here[nearest])
        left = left[nearest + 1 :]
    return chosen


def _described(path: Path) -> Mapping[str, Any]:
    return read_sidecar(path) or load_checkpoint(path).metadata


def _seconds_of(path: Path) -> float:
    """Of training, since the run's first step."""
    seconds = _described(path).get("seconds")
    if seconds is None:
        seconds = load_checkpoint(path).state.get("progress", {}).get("seconds")
    if not isinstance(seconds, int | float):
        raise CheckpointError(f"{path} does not say when it was made; name a run's folder")
    return float(seconds)
