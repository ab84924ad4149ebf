"""`mario demo` as a user meets it, on a home-made game with agents that have learned nothing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mario_a3c.cli.demo import Arguments, play_until_cleared
from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from mario_a3c.native.start_states import Stage
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import tiny_game_flags, write_tiny_game


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_tiny_game(folder)
    agents = folder / "pretrained"
    write_agent(agents / "all.pt", tiny_agent_config(stages="all", max_episode_steps=20))
    write_agent(agents / "last.pt", tiny_agent_config(world=8, stage=4, max_episode_steps=20))
    manifest = {
        "format": "mario-a3c agents 1",
        "agents": [{"file": "all.pt", "stages": ["1-1", "1-2"]}, {"file": "last.pt", "stages": ["8-4"]}],
    }
    (agents / "agents.json").write_text(json.dumps(manifest))
    return folder


def run(place: Path, *flags: str | Path) -> int:
    words = ["demo", "--agents", place / "pretrained", "--device", "cpu", *tiny_game_flags(place), *flags]
    return main([str(word) for word in words])


def test_every_stage_is_played_by_its_agent_and_in_the_video(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = tmp_path / "tour" / "demo.mp4"
    assert run(place, "--output", video, "--tries", "2") == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == [
        "1-1  generalist all", "1-2  generalist all", "8-4  specialist last",
    ]  # fmt: skip
    assert all("not cleared in 2 tries" in line or "cleared on try" in line for line in lines[:3])
    assert f"of 3 stages cleared; {video}" in lines[3]
    av = pytest.importorskip("av")
    with av.open(str(video)) as container:
        pictures = sum(1 for _ in container.decode(video=0))
        stream = container.streams.video[0]
        assert (stream.width, stream.height, float(stream.average_rate)) == (512, 528, 30.0)
        assert pictures >= 3 * 20 + 90


def test_bad_input_is_answered_with_what_to_do(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, code, message in (
        (("--agents", tmp_path), ExitCode.CHECKPOINT, "agents.json is missing"),
        (("--stages", "3-3"), ExitCode.USAGE, "--stages 3-3"),
        (("--stages", "9-9"), ExitCode.USAGE, "--stages 9-9"),
        (("--output", "/proc/nothing/demo.mp4"), ExitCode.STORAGE, "choose another place"),
    ):
        assert run(place, *flags) == code
        assert message in capsys.readouterr().err
    for wrong in (("--tries", "0"), ("--output", "demo.avi"), ("--seed", "-1"), ("--max-seconds", "1")):
        with pytest.raises(SystemExit):
            run(place, *wrong)
        assert wrong[0] in capsys.readouterr().err


def test_tries_end_with_the_first_clear_however_many_are_played_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[list[tuple[str, int]]] = []
    clears = {("1-1", 0), ("1-2", 2), ("1-2", 3)}

    def play(player: Any, arenas: Any, specs: Any, **more: Any) -> list[Any]:
        played.append([(str(spec.stage), spec.number) for spec in specs])
        return [SimpleNamespace(spec=spec, is_clear=(str(spec.stage), spec.number) in clears) for spec in specs]

    monkeypatch.setattr("mario_a3c.evaluation.runner.play_episodes", play)
    player: Any = SimpleNamespace(num_lanes=6, max_threads=1)
    agent: Any = SimpleNamespace(config=tiny_agent_config(), metadata={})
    cache: Any = None
    stages = [Stage(1, 1), Stage(1, 2), Stage(1, 3)]
    tries = play_until_cleared(player, agent, stages, Arguments(tries=5), cache)
    assert [len(tries[stage]) for stage in stages] == [1, 3, 5]
    assert played[0] == [("1-1", 0), ("1-2", 0), ("1-3", 0)]
    assert played[1] == [("1-2", 1), ("1-2", 2), ("1-2", 3), ("1-3", 1), ("1-3", 2), ("1-3", 3)]
    assert played[2] == [("1-3", 4)]
