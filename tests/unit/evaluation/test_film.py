"""Films show the episode that was played, and say how it ended."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.eval import show_in_window
from mario_a3c.evaluation.arena import MarioArenas
from mario_a3c.evaluation.config import VideoConfig
from mario_a3c.evaluation.drawing import draw_text
from mario_a3c.evaluation.episodes import EpisodeResult, list_episodes
from mario_a3c.evaluation.film import film_episode, film_grid, film_with_overlay
from mario_a3c.evaluation.players import NetworkPlayer
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.evaluation.videos import Studio, best_of, write_videos
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, start_states
from tests.support.arenas import tiny_agent_config
from tests.support.episode_results import result_of
from tests.support.small_networks import make_network
from tests.support.tiny_batches import ACTIONS

torch = pytest.importorskip("torch")
GREEN, RED, ORANGE = (40, 200, 80), (220, 50, 50), (240, 150, 30)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    from mario_a3c.cache_dir import CacheConfig
    from tests.support.tiny_game import write_tiny_game

    folder = tmp_path_factory.mktemp("film")
    path, cache = write_tiny_game(folder), CacheDir.open(CacheConfig(cache_dir=folder / "cache"))
    rom = open_rom(path, allow_unknown=True)
    return Studio(rom, "interpreter", cache, start_states(rom, cache), tiny_agent_config().vector_env.env)


@pytest.fixture(scope="module")
def results(studio: Studio) -> list[EpisodeResult]:
    rom = RomConfig(rom=studio.rom.path, allow_unknown_rom=True)
    arenas = MarioArenas(studio.env, rom, EngineConfig(engine="interpreter"), studio.cache)
    player = NetworkPlayer(make_network(len(ACTIONS)), torch.device("cpu"))
    specs = list_episodes([Stage(1, 1)], ["noop", "sticky"], 3)
    return play_episodes(player, arenas, specs, seed=1, with_traces=True)


def test_a_film_has_every_frame_and_ends_where_the_episode_did(studio: Studio, results: list[EpisodeResult]) -> None:
    for result in results:
        console = studio.console()
        pictures = list(film_episode(result, studio.env, console, studio.start_of(result)))
        assert len(pictures) == result.num_frames + 45
        assert {picture.shape for picture in pictures} == {(240, 256, 3)}
        assert console.game().score == result.score
        np.testing.assert_array_equal(pictures[-1], console.screen())


def test_the_overlay_lies_beside_the_game(studio: Studio, results: list[EpisodeResult]) -> None:
    result = max(results, key=lambda each: each.num_steps)
    plain = list(film_episode(result, studio.env, studio.console(), studio.start_of(result)))
    overlaid = list(film_with_overlay(result, studio.env, studio.console(), studio.start_of(result)))
    assert len(overlaid) == len(plain)
    assert overlaid[0].shape == (240, 356, 3)
    for one, other in zip(plain[:-45], overlaid[:-45], strict=True):
        np.testing.assert_array_equal(other[:, :256], one)
    panels = {picture[:, 256:].tobytes() for picture in overlaid}
    assert len(panels) >= min(result.num_steps, 5)
    assert result.trace is not None
    assert len(result.trace.values) == len(result.trace.probabilities) == result.num_steps


def test_bars_are_as_long_as_actions_were_likely(studio: Studio, results: list[EpisodeResult]) -> None:
    result = next(each for each in results if each.spec.mode == "sticky")
    (*_, last) = film_with_overlay(result, studio.env, studio.console(), studio.start_of(result))
    assert result.trace is not None
    bar = np.array((70, 130, 230))
    for action, share in enumerate(result.trace.probabilities[-1]):
        length = int((last[118 + action * 15 + 6, 256:] == bar).all(-1).sum())
        assert abs(length - max(1, share * 84)) <= 1


def test_a_grid_shows_all_and_frames_tell_how_each_ended(studio: Studio, results: list[EpisodeResult]) -> None:
    pictures = list(film_grid(results, studio.env, studio.console, studio.start_of))
    assert pictures[0].shape == (2 * 120, 3 * 128, 3)
    for place, result in enumerate(results):
        row, column = divmod(place, 3)
        corner = tuple(pictures[-1][row * 120, column * 128].tolist())
        expected = {"death": RED, "flag": GREEN}.get(str(result.end_reason), ORANGE)
        assert corner == expected
        assert tuple(pictures[0][row * 120, column * 128].tolist()) not in (RED, GREEN, ORANGE)


def test_videos_are_written_as_asked(studio: Studio, results: list[EpisodeResult], tmp_path: Path) -> None:
    av = pytest.importorskip("av")

    def written(**options: object) -> list[str]:
        config = VideoConfig(video_dir=tmp_path, **options)  # type: ignore[arg-type]
        return [path.name for path in write_videos(studio, results, config)]

    assert written(video="game") == ["1-1_noop_000.mp4", "1-1_sticky_000.mp4"]
    assert written(video="overlay", video_episodes=2, gif=True)[:2] == ["1-1_noop_000.gif", "1-1_noop_001.gif"]
    assert written(video="grid") == ["1-1_noop_grid.mp4", "1-1_sticky_grid.mp4"]
    assert written(video="grid", gif=True) == ["1-1_noop_grid.gif", "1-1_sticky_grid.gif"]
    with av.open(str(tmp_path / "1-1_noop_000.mp4")) as container:
        frames = sum(1 for _ in container.decode(video=0))
        assert (frames, container.streams.video[0].width) == (results[0].num_frames + 45, 512)


class FakeScreen:
    def __init__(self, patience: int) -> None:
        self.shown = 0
        self._patience = patience

    def show(self, picture: np.ndarray, *, frames: int = 1) -> None:
        assert picture.shape == (240, 356, 3)
        self.shown += 1

    def pressed(self) -> set[str]:
        return {"escape"} if self.shown >= self._patience else set()


def test_a_window_shows_one_episode_after_another_until_escape(studio: Studio, results: list[EpisodeResult]) -> None:
    patient, hasty = FakeScreen(10**6), FakeScreen(7)
    show_in_window(studio, results[:2], patient)
    show_in_window(studio, results[:2], hasty)
    assert (patient.shown, hasty.shown) == (sum(each.num_frames + 45 for each in results[:2]), 7)


def test_letters_can_be_read_and_are_cut_at_the_edge() -> None:
    picture = np.zeros((8, 12, 3), np.uint8)
    draw_text(picture, 0, 0, "L", (255, 255, 255))
    assert (picture[..., 0] > 0).astype(int)[:5, :3].tolist() == [[1, 0, 0]] * 4 + [[1, 1, 1]]
    draw_text(picture, 9, 5, "WWW", (255, 255, 255), scale=3)


def test_the_video_at_the_end_is_of_a_clear_in_the_hardest_mode() -> None:
    results = [
        result_of("greedy"),
        result_of("sticky", 1),
        result_of("noop", 2),
        result_of("sticky", 3, is_clear=False),
    ]
    assert best_of(results).spec.number == 1
    failures = [replace(result_of("sampled", n, is_clear=False), progress=float(n)) for n in (3, 9, 5)]
    assert best_of(failures).spec.number == 9
