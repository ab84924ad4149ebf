"""Videos of evaluated episodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.evaluation.config import MODES, Mode, VideoConfig
from mario_a3c.evaluation.drawing import Picture, rounded
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.film import GAME_FRAMES_PER_SECOND, film_episode, film_grid, film_with_overlay
from mario_a3c.native.config import Engine
from mario_a3c.native.console import Console
from mario_a3c.native.rom import Rom
from mario_a3c.native.start_states import Stage
from mario_a3c.video import write_video

_SCALE = 2
_GIF_STEP = 4  # every fourth frame: fifteen a second
_GRID_STEP = 2
_MAX_TILES = 64


@dataclass(frozen=True, slots=True)
class Studio:
    """Where episodes are played again to be filmed, or recorded."""

    rom: Rom
    engine: Engine
    cache: CacheDir
    starts: Mapping[Stage, bytes]
    env: MarioEnvConfig

    def console(self) -> Console:
        return Console(self.rom.path, self.engine, cache=self.cache, allow_unknown_rom=True)

    def start_of(self, result: EpisodeResult) -> bytes:
        return self.starts[result.spec.stage]

    def film(self, result: EpisodeResult, *, with_overlay: bool) -> Iterator[Picture]:
        """Sixty a second."""
        film = film_with_overlay if with_overlay else film_episode
        return film(result, self.env, self.console(), self.start_of(result))


def write_videos(studio: Studio, results: Sequence[EpisodeResult], config: VideoConfig) -> Iterator[Path]:
    """Makes them one after another."""
    groups: dict[tuple[Stage, Mode], list[EpisodeResult]] = {}
    for result in results:
        groups.setdefault((result.spec.stage, result.spec.mode), []).append(result)
    suffix = ".gif" if config.gif else ".mp4"
    for (stage, mode), group in groups.items():
        if config.video == "grid":
            tiles = group[:_MAX_TILES]
            pictures = film_grid(tiles, studio.env, studio.console, studio.start_of, frame_step=_GRID_STEP)
            yield _write(config.video_dir / f"{stage}_{mode}_grid{suffix}", pictures, _GRID_STEP, scale=1)
            continue
        for result in group[: config.video_episodes]:
            pictures = studio.film(result, with_overlay=config.video == "overlay")
            yield _write(config.video_dir / f"{result.spec.name}{suffix}", pictures, 1, scale=_SCALE)


def write_episode_video(studio: Studio, result: EpisodeResult, path: Path) -> Path:
    return _write(path, studio.film(result, with_overlay=True), 1, scale=_SCALE)


def best_of(results: Sequence[EpisodeResult]) -> EpisodeResult:
    """A clear in the hardest mode that has one; else whoever came furthest."""
    return max(
        results, key=lambda each: (each.is_clear, MODES.index(each.spec.mode) if each.is_clear else 0, each.progress)
    )


def _write(path: Path, pictures: Iterator[Picture], step: int, *, scale: int) -> Path:
    """`step` is how many frames of the game lie between two pictures."""
    if path.suffix == ".gif":
        thinned = (picture for number, picture in enumerate(pictures) if number * step % _GIF_STEP == 0)
        few_colours = map(rounded, thinned) if step > 1 else thinned  # a grid's are averages, and thousands
        return write_video(path, few_colours, frames_per_second=GAME_FRAMES_PER_SECOND / _GIF_STEP)
    return write_video(path, pictures, frames_per_second=GAME_FRAMES_PER_SECOND / step, scale=scale)
