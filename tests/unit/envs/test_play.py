"""Playing with the keyboard, recordings, and windows where there is no display."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.cli.main import main
from mario_a3c.envs import MarioEnv, MarioEnvConfig
from mario_a3c.envs.play import bits_of, names_of, play, replay
from mario_a3c.envs.recording import Recording
from mario_a3c.envs.window import Window
from mario_a3c.errors import RomError, SetupError, StorageError
from mario_a3c.native import Console, Stage
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import start_states


class Somebody:
    """Holds keys for some frames each, then leaves."""

    def __init__(self, *held: tuple[set[str], int]) -> None:
        self._keys = [keys for keys, frames in held for _ in range(frames)]
        self.num_shown = 0

    def show(self, picture: npt.NDArray[np.uint8], *, frames: int = 1) -> None:
        assert picture.shape == (240, 256, 3)
        self.num_shown += 1

    def pressed(self) -> set[str]:
        return self._keys.pop(0) if self._keys else {"escape"}


@pytest.fixture
def start(tiny_game: Path, tiny_cache: CacheDir) -> bytes:
    return start_states(open_rom(tiny_game, allow_unknown=True), tiny_cache)[Stage(1, 1)]


@pytest.fixture
def console(tiny_game: Path) -> Console:
    return Console(tiny_game, allow_unknown_rom=True)


def test_keys_are_buttons() -> None:
    assert bits_of(names_of({"x", "right"})) == 129
    assert bits_of(names_of({"z", "left", "right"})) == 2, "no controller presses both"
    assert bits_of(names_of({"up", "down", "return"})) == 8
    assert names_of({"escape"}) == {"quit"}


def test_what_was_played_can_be_played_again(console: Console, start: bytes, tmp_path: Path) -> None:
    somebody = Somebody(({"right"}, 10), (set(), 5), ({"right", "z"}, 3))
    recording = play(console, Stage(1, 1), start, somebody)
    assert recording.held == ((128, 10), (0, 5), (130, 3))
    assert somebody.num_shown == 19
    assert console.game().x == 40 + 13 * 4
    recording.save(tmp_path / "played.json")
    again = Recording.load(tmp_path / "played.json")
    assert again == recording
    console.power_on()
    assert replay(console, again, start)
    watcher = Somebody(*[(set(), 1)] * 30)
    assert replay(console, again, start, watcher)
    assert watcher.num_shown == 18
    assert not replay(console, again, start, Somebody(({"q"}, 2))), "left before the end"


def test_a_recording_belongs_to_its_rom(console: Console, start: bytes) -> None:
    other = Recording("0" * 40, Stage(1, 1), ((128, 4),), "")
    with pytest.raises(RomError, match="name the other with --rom"):
        replay(console, other, start)


@pytest.mark.parametrize(
    "wrong",
    ["", "[]", "{}", '{"format": "else"}', {"held": [[256, 1]]}, {"held": [[1, 0]]}, {"stage": "x"}, {"held": 3}],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, wrong: Any) -> None:
    good: dict[str, Any] = {
        "format": "mario-a3c recording 1",
        "rom_sha1": "",
        "stage": "1-1",
        "memory": "",
        "held": [[1, 1]],
    }
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(good))
    Recording.load(path)
    path.write_text(wrong if isinstance(wrong, str) else json.dumps({**good, **wrong}))
    with pytest.raises(StorageError, match="cannot be read as a recording"):
        Recording.load(path)


def test_the_command_replays_without_a_window(
    console: Console, start: bytes, tiny_game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = play(console, Stage(1, 1), start, Somebody(({"right"}, 10)))
    recording.save(tmp_path / "played.json")
    options = ["--rom", str(tiny_game), "--allow-unknown-rom", "--engine", "interpreter"]
    assert main(["play", "--replay", str(tmp_path / "played.json"), "--headless", *options]) == 0
    assert "10 frames, now in 1-1 at pixel 80" in capsys.readouterr().out
    Recording(recording.rom_sha1, recording.stage, ((128, 9),), recording.memory).save(tmp_path / "other.json")
    assert main(["play", "--replay", str(tmp_path / "other.json"), "--headless", *options]) == 6
    assert "does not lead to the end" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["play", "--headless", *options])
    assert "nobody can play" in capsys.readouterr().err


def test_without_pygame_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(SetupError, match=r"pip install 'mario-a3c\[window\]'"):
        Window("nothing").show(np.zeros((240, 256, 3), np.uint8))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_window_without_a_display_says_so_and_with_one_shows_pictures(
    monkeypatch: pytest.MonkeyPatch, tiny_game: Path, tiny_cache: CacheDir
) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(SetupError, match="no window can be opened"):
        Window("nothing").show(np.zeros((240, 256, 3), np.uint8))
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = MarioEnv(
        MarioEnvConfig(),
        render_mode="human",
        rom=RomConfig(rom=tiny_game, allow_unknown_rom=True),
        engine=EngineConfig(engine="interpreter"),
        cache=tiny_cache,
    )
    env.reset()
    env.step(1)
    assert env.render() is None
    assert env._window is not None
    assert env._window.pressed() == set()
    env.close()
