"""A film of learning: its clips, its captions, and a GIF that is no larger than it may be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import StorageError
from mario_a3c.evaluation.learning_film import FRAMES_PER_SECOND, Moment, film_learning, spoken, write_small_gif
from tests.support.counting_console import CountingConsole
from tests.support.episode_results import result_of


def moment(seconds: float, *, num_episodes: int = 3, steps: int = 60, num_clears: int = 0) -> Moment:
    results = [result_of(number=n, steps=steps, is_clear=n < num_clears) for n in range(num_episodes)]
    for each in results:
        object.__setattr__(each, "frames", np.full(steps, 4, np.uint16))
    return Moment(int(seconds * 1000), seconds, results)


def film(moments: list[Moment], **more: Any) -> list[Any]:
    settings = {"columns": 3, "speed": 4, "clip_seconds": 0.5, **more}
    return list(film_learning(moments, MarioEnvConfig(), CountingConsole, lambda result: b"", **settings))  # type: ignore[arg-type]


def test_clips_are_cut_but_for_the_last_which_ends_itself() -> None:
    pictures = film([moment(0), moment(10, num_clears=3)])
    assert {picture.shape for picture in pictures} == {(22 + 120, 3 * 128, 3)}
    num_last = -(-(240 + 45) // 8) + 1  # frames of the game, every eighth of them and the last one
    assert len(pictures) == round(0.5 * FRAMES_PER_SECOND) + num_last
    bars = [(picture[20] == (40, 200, 80)).all(-1).mean() for picture in (pictures[0], pictures[-1])]
    assert bars == [0.0, 1.0]  # how much of the run has passed
    assert (pictures[-1][30, 2] == (40, 200, 80)).all()  # a green frame: the flag


def test_a_moment_says_when_it_is_and_how_many_cleared() -> None:
    assert moment(12.4, num_clears=2).caption == "after 12 s, 12,400 steps"
    assert moment(12.4, num_clears=2).score == "2/3 cleared"
    assert (spoken(119), spoken(1680)) == ("119 s", "28 min")


def test_a_gif_has_fewer_pictures_rather_than_more_bytes(tmp_path: Path) -> None:
    pytest.importorskip("av")
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (40, 40, 3), np.uint8) for _ in range(60)]
    path = tmp_path / "small.gif"
    assert write_small_gif(path, pictures, 10_000_000) == 15.0
    whole = path.stat().st_size
    rate = write_small_gif(path, pictures, whole // 2)
    assert 3.0 <= rate < 10.0
    assert path.stat().st_size <= whole // 2
    with pytest.raises(StorageError, match="show fewer moments"):
        write_small_gif(path, pictures, 100)
    assert not path.exists()
