"""Progress is read in pixels, or by a map as a share of the way."""

import json
from pathlib import Path

import pytest

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.metrics.progress_unit import ProgressUnit


def test_a_share_is_read_in_percent_and_pixels_are_counted() -> None:
    assert ProgressUnit.of_option("map").text(0.934) == "93%"
    assert ProgressUnit.of_option("position").text(2710.4) == "2,710"
    assert ProgressUnit.of_option("map").full_text(0.934) == "93% of the way"
    assert ProgressUnit.of_option("position").full_text(2710.4) == "2,710 pixels"


def test_the_unit_of_a_run_is_what_its_record_says(tmp_path: Path) -> None:
    assert ProgressUnit.of_run(tmp_path) is ProgressUnit.PIXELS, "nothing is recorded yet"
    plain = json.loads(to_json(TrainingConfig()))
    for progress, unit in (("position", ProgressUnit.PIXELS), ("map", ProgressUnit.SHARE)):
        plain["vector_env"]["env"]["progress"] = progress
        (tmp_path / "run.json").write_text(json.dumps({"config": plain}))
        assert ProgressUnit.of_run(tmp_path) is unit
        assert ProgressUnit.of_run(tmp_path / "metrics.jsonl") is unit


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"config": null}'])
def test_what_says_nothing_is_in_pixels(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    assert ProgressUnit.of_run(tmp_path) is ProgressUnit.PIXELS
