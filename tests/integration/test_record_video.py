"""Gymnasium's RecordVideo on our environments, with the real game."""

from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs import create_eval_env
from mario_a3c.native.config import EngineConfig, RomConfig

pytestmark = pytest.mark.slow


def test_gymnasium_records_full_colour_videos(game_rom: Path, session_cache: CacheDir, tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="Gymnasium's RecordVideo needs moviepy")
    av = pytest.importorskip("av")
    import warnings

    from gymnasium.wrappers import RecordVideo

    env = create_eval_env(
        "SuperMarioBros-1-1-v0",
        rom=RomConfig(rom=game_rom),
        engine=EngineConfig(engine="interpreter"),
        cache=session_cache,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # moviepy about itself
        recorded = RecordVideo(env, str(tmp_path / "output" / "eval"), episode_trigger=lambda _: True)
        recorded.reset(seed=0)
        for _ in range(25):
            recorded.step(3)
        recorded.close()  # type: ignore[no-untyped-call]
    (path,) = (tmp_path / "output" / "eval").glob("*.mp4")
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) in (25, 26)  # moviepy may leave the last one out
    assert frames[0].shape == (240, 256, 3)
    sky = frames[0][100, 40].astype(int)
    assert sky[2] > 200 > sky[0] + 30  # blue
