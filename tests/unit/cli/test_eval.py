"""`mario eval` as a user meets it, on a home-made game."""

import csv
import json
from pathlib import Path

import pytest

from mario_a3c.cli.main import main
from mario_a3c.errors import ExitCode
from tests.support.arenas import tiny_agent_config, write_agent
from tests.support.tiny_game import tiny_game_flags, write_tiny_game


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game, a cache and an agent."""
    folder = tmp_path_factory.mktemp("eval")
    write_tiny_game(folder)
    write_agent(folder / "agent.pt", tiny_agent_config())
    return folder


def run(place: Path, *flags: str | Path, checkpoint: str = "agent.pt") -> int:
    words = ["eval", "--checkpoint", place / checkpoint, "--device", "cpu", *tiny_game_flags(place), *flags]
    return main([str(word) for word in words])


def test_every_episode_and_the_summary_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--episodes", "5") == ExitCode.DONE
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].split() == [
        "stage",
        "mode",
        "episode",
        "return",
        "progress,",
        "pixels",
        "steps",
        "time",
        "left",
        "flag",
        "end",
    ]
    assert [line.split()[:3] for line in lines[1:6]] == [["1-1", "greedy", str(n)] for n in range(1, 6)]
    assert lines[8].split()[:5] == ["1-1", "greedy", "0", "of", "5"]
    assert "agent.pt, update 3, last weights, on cpu; 5 episodes" in told.err


def test_files_hold_what_was_played_and_recordings_replay(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--mode", "all", "--episodes", "3", "--stages", "1-1,8-4", "--seed", "7")
    outputs = ("--json", tmp_path / "e.json", "--csv", tmp_path / "e.csv", "--recordings", tmp_path / "recordings")
    assert run(place, *flags, *outputs) == ExitCode.DONE
    written = json.loads((tmp_path / "e.json").read_text())
    assert (written["format"], written["seed"], written["run"], written["update"]) == (
        "mario-a3c evaluation 1",
        7,
        "untrained",
        3,
    )
    assert len(written["episodes"]) == 2 * 4 * 3
    assert {(each["stage"], each["mode"]) for each in written["summaries"]} == {
        (stage, mode) for stage in ("1-1", "8-4") for mode in ("greedy", "sampled", "noop", "sticky")
    }
    assert written["cleared"] == {"1-1": None, "8-4": None}
    with open(tmp_path / "e.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["stage"], row["mode"], row["return"]) for row in rows] == [
        (each["stage"], each["mode"], str(each["return"])) for each in written["episodes"]
    ]
    recordings = sorted((tmp_path / "recordings").glob("*.json"))
    assert len(recordings) == 24
    capsys.readouterr()
    assert main(["replay", *map(str, recordings), *tiny_game_flags(place)]) == ExitCode.DONE
    assert capsys.readouterr().out.count("; as recorded") == 24


@pytest.mark.parametrize(
    ("flags", "checkpoint", "code", "message"),
    [
        (["--episodes", "1"], "missing.pt", ExitCode.CHECKPOINT, "there is no checkpoint"),
        (["--episodes", "1"], "tiny.nes", ExitCode.CHECKPOINT, "cannot be used"),
        (["--stages", "9-1"], "agent.pt", ExitCode.USAGE, "--stages 9-1"),
        (["--json", "/proc/nothing/here.json"], "agent.pt", ExitCode.STORAGE, "choose another place"),
        (["--recordings", "/proc/nothing"], "agent.pt", ExitCode.STORAGE, "choose another place"),
    ],
)
def test_bad_input_is_answered_with_what_to_do(
    place: Path, capsys: pytest.CaptureFixture[str], flags: list[str], checkpoint: str, code: int, message: str
) -> None:
    assert run(place, *flags, checkpoint=checkpoint) == code
    assert message in capsys.readouterr().err


def test_zero_episodes_and_unknown_modes_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, flag in ((["--episodes", "0"], "--episodes"), (["--mode", "lucky"], "--mode")):
        with pytest.raises(SystemExit) as refused:
            run(place, *flags)
        assert refused.value.code == ExitCode.USAGE
        assert flag in capsys.readouterr().err


def test_an_agent_of_another_rom_is_played_only_when_asked_to(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_agent(place / "other.pt", tiny_agent_config(), metadata={"rom_sha1": "aa", "rom": "Mario"})
    assert run(place, "--episodes", "1", checkpoint="other.pt") == ExitCode.CHECKPOINT
    assert "--any-rom" in capsys.readouterr().err
    assert run(place, "--episodes", "1", "--any-rom", checkpoint="other.pt") == ExitCode.DONE
