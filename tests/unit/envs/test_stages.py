"""Which stages are played, by what people write."""

from pathlib import Path
from typing import Any

import pytest

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.stages import parse_stages, stages_to_play
from mario_a3c.errors import ConfigError
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, stages_of
from tests.support.corridor import corridor_task


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1-1", ["1-1"]),
        ("8-4,1-1,8-4", ["8-4", "1-1"]),
        ("1-3..2-2", ["1-3", "1-4", "2-1", "2-2"]),
        ("1-1..1-2,7-4", ["1-1", "1-2", "7-4"]),
    ],
)
def test_stages_are_listed_or_spanned(tmp_path: Path, text: str, expected: list[str]) -> None:
    rom = corridor_task(tmp_path).rom
    assert [str(stage) for stage in parse_stages(text, stages_of(rom))] == expected


def test_all_means_all(tmp_path: Path) -> None:
    rom = open_rom(corridor_task(tmp_path).rom.path, allow_unknown=True)
    everything = parse_stages("all", stages_of(rom))
    assert (len(everything), everything[0], everything[-1]) == (32, Stage(1, 1), Stage(8, 4))


@pytest.mark.parametrize("text", ["9-1", "one", "", "2-1..1-1", "1-1;1-2"])
def test_what_is_no_stage_is_refused_with_examples(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"--stages .*1-1\.\.2-4"):
        parse_stages(text, stages_of(corridor_task(tmp_path).rom))


@pytest.mark.parametrize(
    ("options", "expected", "first", "has_several"),
    [
        ({}, "1-1", (1, 1), False),
        ({"world": 8, "stage": 4}, "8-4", (8, 4), False),
        ({"stage": 3, "stage_span": 3}, "1-3 1-4 2-1", (1, 3), True),
        ({"stages": "2-1,1-1"}, "2-1 1-1", (2, 1), True),
        ({"stages": "8-4"}, "8-4", (8, 4), False),
        ({"stages": "1-1..1-4", "held_out_stages": "1-2,1-4"}, "1-1 1-3", (1, 1), True),
        ({"stages": "all", "held_out_stages": "1-2..8-3"}, "1-1 8-4", (1, 1), True),
        ({"random_stage": True, "held_out_stages": "1-1..8-3"}, "8-4", (1, 1), True),
    ],
)
def test_the_stages_of_a_config(
    tmp_path: Path, options: dict[str, Any], expected: str, first: tuple[int, int], has_several: bool
) -> None:
    config = MarioEnvConfig(**options)
    assert " ".join(map(str, stages_to_play(config, corridor_task(tmp_path).rom))) == expected
    assert (config.first_stage, config.has_several_stages) == (first, has_several)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"stages": "1-1..1-4", "held_out_stages": "2-1"}, "2-1 would not be played anyway"),
        ({"stages": "1-1,1-2", "held_out_stages": "1-1,1-2"}, "no stage is left"),
        ({"stages": "all", "held_out_stages": "9-9"}, "--held-out-stages 9-9"),
        ({"held_out_stages": "1-1"}, "no stage is left"),
        ({"stages": "1-1", "stage_span": 2}, "leave --world"),
    ],
)
def test_stages_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        stages_to_play(MarioEnvConfig(**options), corridor_task(tmp_path).rom)
