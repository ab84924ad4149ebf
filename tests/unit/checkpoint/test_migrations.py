"""Files of every format that there was are read; those of formats to come are not."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from mario_a3c.checkpoint.inspection import find_fault
from mario_a3c.checkpoint.migrations import _MIGRATIONS, FORMAT, migrate
from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint
from mario_a3c.errors import CheckpointError
from tests.support.runs import digest_of

GOLDEN = Path(__file__).parents[2] / "data" / "checkpoints"


@pytest.mark.parametrize("found", range(1, FORMAT + 1))
def test_a_golden_file_of_each_format_is_read(found: int) -> None:
    """What each version wrote for a run of two updates in the corridor; the digests were taken when it did."""
    path = GOLDEN / f"format{found}.pt"
    assert torch.load(path, weights_only=True)["format"] == found
    assert find_fault(path) is None
    checkpoint = load_checkpoint(path)
    assert checkpoint.metadata["update"] == 2
    assert checkpoint.metadata["global_step"] == 2 * 16
    assert checkpoint.metadata["kind"] == "run"
    assert set(checkpoint.state) == {"collector", "learner", "progress", "adaptive", "random"}
    expected = json.loads((GOLDEN / "digests.json").read_text())
    parts = {name: digest_of(part) for name, part in checkpoint.state.items()}
    assert parts == expected[path.name]


def test_every_format_has_a_golden_file_and_a_way_up() -> None:
    assert sorted(path.name for path in GOLDEN.glob("*.pt")) == [f"format{found}.pt" for found in range(1, FORMAT + 1)]
    assert sorted(_MIGRATIONS) == list(range(1, FORMAT))


def test_an_unsealed_file_is_held_against_its_json(tmp_path: Path) -> None:
    for suffix in (".pt", ".json"):
        shutil.copy(GOLDEN / f"format1{suffix}", tmp_path)
    described = json.loads((tmp_path / "format1.json").read_text())
    (tmp_path / "format1.json").write_text(json.dumps({**described, "sha256": "0" * 64}))
    with pytest.raises(CheckpointError, match=r"not those that format1\.json speaks of"):
        load_checkpoint(tmp_path / "format1.pt")
    (tmp_path / "format1.json").unlink()
    load_checkpoint(tmp_path / "format1.pt")


def test_what_was_migrated_and_saved_again_is_the_same(tmp_path: Path) -> None:
    old = load_checkpoint(GOLDEN / "format1.pt")
    new = load_checkpoint(save_checkpoint(tmp_path / "new.pt", old.state, old.metadata))
    assert new.metadata == old.metadata
    assert digest_of(new.state) == digest_of(old.state)


def test_a_newer_format_is_refused_with_both_versions() -> None:
    with pytest.raises(
        CheckpointError, match=f"format {FORMAT + 1}, and this version of the program reads 1 to {FORMAT}"
    ):
        migrate(FORMAT + 1, {}, {})
