from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from mario_a3c.config.command_line import parse_command
from mario_a3c.config.reference import configuration_page
from mario_a3c.errors import ConfigError
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayConfig:
    """Prioritized replay of past sequences."""

    priority_exponent: float = option(0.6, "0 samples uniformly, 1 purely by priority", flag="--per-alpha")

    def __post_init__(self) -> None:
        if not 0.0 <= self.priority_exponent <= 1.0:
            raise ConfigError(f"--per-alpha must be in [0, 1], got {self.priority_exponent}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """The network."""

    recurrent_type: Literal["none", "gru"] = option("none", "kind of memory")
    amp: bool = option(True, "mixed precision")


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeConfig:
    """Only gathers sections."""

    replay: ReplayConfig = section(ReplayConfig)
    model: ModelConfig = section(ModelConfig)


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Do something."""

    action: Literal["list", "clear"] = option("list", "what to do", positional=True)
    stage_span: tuple[str, ...] = option((), "stages")
    out: Path | None = option(None, "where to")
    whole: WholeConfig = section(WholeConfig)


def parse(*argv: str, default: Arguments | None = None) -> Arguments:
    return parse_command(Arguments, argv, prog="mario toy", default=default)


def complaint(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as caught:
        parse(*argv)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return " ".join(captured.err.replace("│", " ").split())


def test_flags_are_flat_and_documented_names_win() -> None:
    arguments = parse(
        "clear", "--per-alpha", "0.4", "--recurrent-type", "gru", "--no-amp", "--stage-span", "1-1", "1-2"
    )
    assert arguments.action == "clear"
    assert arguments.whole.replay.priority_exponent == 0.4
    assert arguments.whole.model == ModelConfig(recurrent_type="gru", amp=False)
    assert arguments.stage_span == ("1-1", "1-2")


def test_nothing_given_is_the_default() -> None:
    assert parse() == Arguments()


def test_flags_override_a_given_default() -> None:
    from_file = Arguments(out=Path("a"), whole=WholeConfig(model=ModelConfig(recurrent_type="gru", amp=False)))
    arguments = parse("--amp", "--out", "b", default=from_file)
    assert arguments.whole.model == ModelConfig(recurrent_type="gru", amp=True)
    assert arguments.out == Path("b")
    assert parse("--out", "None", default=from_file).out is None


def test_an_unknown_flag_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Perhaps you meant: --recurrent-type" in complaint(capsys, "--recurent-type", "gru")


def test_a_wrong_value_is_answered_with_what_was_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Expected one of ('none', 'gru')" in complaint(capsys, "--recurrent-type", "lstm")
    assert "float" in complaint(capsys, "--per-alpha", "much").lower()


def test_a_value_out_of_range_is_answered_by_its_own_component(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--per-alpha must be in [0, 1], got 2.0" in complaint(capsys, "--per-alpha", "2")


def test_help_is_grouped_by_component(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for part in ("replay options", "model options", "The network.", "--per-alpha FLOAT", "(default: 0.6)"):
        assert part in text
    assert "whole" not in text


def test_what_commands_share_comes_behind_what_is_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Shared:
        device: str = option("best", "where")

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Command(Shared):
        """A command."""

        stages: str = option("all", "which")

    assert parse_command(Command, ["--device", "cpu"], prog="mario x") == Command(device="cpu")
    with pytest.raises(SystemExit):
        parse_command(Command, ["--help"], prog="mario x")
    for told in (capsys.readouterr().out, configuration_page([("x", Command)])):
        assert 0 < told.index("--stages") < told.index("--device")


def test_the_reference_page_tells_the_same() -> None:
    page = configuration_page([("toy", Arguments)])
    for line in (
        "| `ACTION` | `list`, `clear` | `list` | what to do |",
        "| `--stage-span` | list of text | `` | stages |",
        "| `--out` | path |  | where to |",
        "| `--per-alpha` | number | `0.6` | 0 samples uniformly, 1 purely by priority |",
        "| `--amp` | switch | `on` | mixed precision |",
        "Also takes the options of [replay](#replay), [model](#model).",
    ):
        assert line in page
