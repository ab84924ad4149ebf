"""Videos hold what was put in, whole or not at all."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from mario_a3c import video
from mario_a3c.errors import ConfigError, SetupError, StorageError
from mario_a3c.video import VideoWriter, write_video

av = pytest.importorskip("av", reason="videos need the package av")


def pictures(num: int = 6, height: int = 48, width: int = 64) -> list[video.Picture]:
    """A bright square on its way to the right."""
    made = np.full((num, height, width, 3), (40, 60, 200), np.uint8)
    for number, picture in enumerate(made):
        picture[8:24, number * 8 : number * 8 + 16] = (250, 220, 30)
    return list(made)


def frames_of(path: Path) -> tuple[list[video.Picture], float, str]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        rate, name = float(stream.average_rate), stream.codec_context.name
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)], rate, name


@pytest.mark.parametrize(("scale", "rate"), [(1, 60.0), (3, 30.0)])
def test_an_mp4_shows_the_pictures_in_order(tmp_path: Path, scale: int, rate: float) -> None:
    made = pictures()
    shown, shown_rate, codec = frames_of(write_video(tmp_path / "a.mp4", made, frames_per_second=rate, scale=scale))
    assert (len(shown), shown_rate, codec) == (len(made), rate, "h264")
    for before, after in zip(made, shown, strict=True):
        assert after.shape == (48 * scale, 64 * scale, 3)
        middle = after[scale // 2 :: scale, scale // 2 :: scale].astype(int)
        assert np.abs(middle - before).mean() < 12  # it is compressed, with colours at half the resolution


def test_an_mp4_can_be_played_before_it_is_read_to_the_end(tmp_path: Path) -> None:
    content = write_video(tmp_path / "a.mp4", pictures(), frames_per_second=60).read_bytes()
    assert 0 < content.index(b"moov") < content.index(b"mdat")


def test_odd_sizes_are_filled_up(tmp_path: Path) -> None:
    shown, _, _ = frames_of(write_video(tmp_path / "a.mp4", pictures(2, 31, 45), frames_per_second=60))
    assert shown[0].shape == (32, 46, 3)


def test_a_gif_loses_nothing(tmp_path: Path) -> None:
    made = pictures()
    shown, _, codec = frames_of(write_video(tmp_path / "a.gif", made, frames_per_second=15, scale=2))
    assert (len(shown), codec) == (len(made), "gif")
    with av.open(str(tmp_path / "a.gif")) as container:
        times = [float(frame.pts * frame.time_base) for frame in container.decode(video=0)]
    assert times[-1] == pytest.approx(5 / 15, abs=0.011)  # a GIF counts hundredths of seconds
    for before, after in zip(made, shown, strict=True):
        np.testing.assert_array_equal(after[::2, ::2], before)
    colourful = np.zeros((20, 20, 3), np.uint8)
    colourful[..., 0], colourful[..., 1] = np.arange(20), np.arange(20)[:, None]
    with pytest.raises(ConfigError, match="256 colours"):
        write_video(tmp_path / "b.gif", [colourful], frames_per_second=15)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    made = pictures()

    def fails() -> object:
        yield from made[:3]
        raise RuntimeError("the console is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        write_video(tmp_path / "a.mp4", fails(), frames_per_second=60)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    writer = VideoWriter(tmp_path / "a.mp4", frames_per_second=60)
    for picture in made:
        writer.write(picture)
    assert not (tmp_path / "a.mp4").exists()
    writer.finish()
    writer.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_what_cannot_be_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"\.mp4 or \.gif"):
        VideoWriter(tmp_path / "a.avi", frames_per_second=60)
    with pytest.raises(ConfigError, match="1 to 8"):
        VideoWriter(tmp_path / "a.mp4", frames_per_second=60, scale=9)
    with pytest.raises(ValueError, match="no pictures"):
        write_video(tmp_path / "a.mp4", [], frames_per_second=60)
    with pytest.raises(ValueError, match=r"shape \(48, 64, 3\) was expected"):
        write_video(tmp_path / "a.mp4", itertools.chain(pictures(), pictures(1, 10, 10)), frames_per_second=60)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="choose another place"):
        write_video(tmp_path / "file" / "a.mp4", pictures(), frames_per_second=60)
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(SetupError, match=r"pip install 'mario-a3c\[video\]'"):
        VideoWriter(tmp_path / "a.mp4", frames_per_second=60)
