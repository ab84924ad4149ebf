"""Which checkpoint is taken: the newest that is whole and of this run, with a reason for each that is not."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.checkpoint.choice import (
    Wanted,
    candidates,
    choose,
    find_matching_checkpoint_recursive,
    wanted_by,
)
from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.durable_file import link_to
from mario_a3c.errors import CheckpointError, ConfigError, ExitCode
from tests.support.checkpoints import NAMES, is_of_update, save_small
from tests.support.damage import DAMAGES


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    for update in (1, 2, 3):
        save_small(folder, update)
    return folder


def test_the_newest_is_taken_and_nothing_is_said(run: Path) -> None:
    choice = choose(Wanted(run), "this")
    assert (choice.update, choice.skipped) == (3, ())
    assert is_of_update(choice.checkpoint.state, 3)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_damaged_newest_falls_back_and_is_named(run: Path, damage: Callable[[Path], None]) -> None:
    damage(NAMES.numbered(run, 3))
    choice = choose(Wanted(run), "this")
    assert choice.update == 2
    assert len(choice.skipped) == 1
    assert "0000003.pt" in choice.skipped[0]


def test_where_all_are_damaged_every_reason_is_given(run: Path) -> None:
    for update in (1, 2, 3):
        os.truncate(NAMES.numbered(run, update), 100)
    with pytest.raises(CheckpointError) as error:
        choose(Wanted(run))
    assert error.value.exit_code is ExitCode.CHECKPOINT
    assert str(error.value).count("cannot be used: it ") == 3
    assert "--fresh" in str(error.value)


def test_another_runs_checkpoint_is_never_taken(run: Path, tmp_path: Path) -> None:
    foreign = save_small(tmp_path / "other", 9, run_id="another", run="other")
    shutil.copy(foreign, run)
    choice = choose(Wanted(run), "this")
    assert choice.update == 3
    assert "belongs to another run, 'other'" in choice.skipped[0]
    assert choose(Wanted(foreign.parent)).update == 9


def test_swapped_and_renamed_files_are_noticed(run: Path) -> None:
    first, third = NAMES.numbered(run, 1), NAMES.numbered(run, 3)
    shutil.copy(first, third)
    choice = choose(Wanted(run), "this")
    assert choice.update == 2
    assert "is called update 3 and holds update 1" in choice.skipped[0]


def test_weights_alone_and_links_out_of_the_folder_are_no_runs(run: Path, tmp_path: Path) -> None:
    save_small(run, 4, kind="weights")
    outside = save_small(tmp_path / "other", 5)
    link_to(NAMES.numbered(run, 5), outside)
    choice = choose(Wanted(run), "this")
    assert choice.update == 3
    assert "leads out of its folder" in choice.skipped[0]
    assert "holds weights only" in choice.skipped[1]


def test_for_a_tie_the_numbered_one_counts_and_a_copied_latest_can_win(run: Path) -> None:
    latest = NAMES.latest(run)
    for path in (latest, latest.with_suffix(".json")):
        path.unlink()
    for suffix in (".pt", ".json"):
        shutil.copy(NAMES.numbered(run, 3).with_suffix(suffix), latest.with_suffix(suffix))
    assert candidates(run)[:2] == [NAMES.numbered(run, 3), latest]
    NAMES.numbered(run, 3).unlink()
    assert choose(Wanted(run), "this").path == latest


def test_a_file_that_was_named_has_no_substitute(run: Path) -> None:
    third = NAMES.numbered(run, 3)
    os.truncate(third, 100)
    with pytest.raises(CheckpointError, match=r"0000003\.pt cannot be used.*--resume .*0000002\.pt"):
        choose(Wanted(run, third))
    assert choose(Wanted(run, NAMES.numbered(run, 1))).update == 1


def test_what_was_asked_for_becomes_a_place(run: Path, tmp_path: Path) -> None:
    third = NAMES.numbered(run, 3)
    assert wanted_by("latest", NAMES, tmp_path, None) == Wanted(run)
    assert wanted_by("latest", NAMES, tmp_path, "run") == Wanted(run)
    assert wanted_by(str(run), NAMES, tmp_path, None) == Wanted(run)
    assert wanted_by(str(NAMES.latest(tmp_path)), NAMES, tmp_path, None) == Wanted(run)
    assert wanted_by(str(third), NAMES, tmp_path, None) == Wanted(run, third)
    for resume, run_name in (("latest", "nobody"), (str(run / "missing.pt"), None)):
        with pytest.raises(CheckpointError, match=r"runs with a checkpoint in .*: run"):
            wanted_by(resume, NAMES, tmp_path, run_name)
    with pytest.raises(CheckpointError, match="has no runs"):
        wanted_by("latest", NAMES, tmp_path / "empty", None)
    with pytest.raises(CheckpointError, match="stage4_latest"):
        wanted_by("latest", CheckpointNames(1, 4), tmp_path, None)


def test_a_lost_flat_link_is_replaced_by_the_run_that_saved_last(run: Path, tmp_path: Path) -> None:
    os.utime(run, (1, 1))
    newer = save_small(tmp_path / "newer", 1).parent
    NAMES.latest(tmp_path).unlink()
    assert wanted_by("latest", NAMES, tmp_path, None) == Wanted(newer)


def test_the_search_takes_the_newest_match_and_ends_at_its_limit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = save_small(tmp_path / "deep" / "down" / "a", 5, run="a")
    new = save_small(tmp_path / "b", 3, run="b")
    os.utime(old, (1, 1))
    looked_at: list[Any] = []

    def matches(described: Any) -> bool:
        looked_at.append(described["run"])
        return True

    assert find_matching_checkpoint_recursive(tmp_path, matches) == new
    assert looked_at == ["b"]
    assert find_matching_checkpoint_recursive(tmp_path, lambda each: each["run"] == "a") == old
    assert find_matching_checkpoint_recursive(tmp_path, lambda _: False) is None
    find_matching_checkpoint_recursive(tmp_path, matches, limit=1)
    assert "not looked at" in caplog.text


TRICKS = [
    "..", ".", "", "/", "//", "../up", "../../up", "a/../../up", "a/b", "/etc", "/etc/passwd", "~", "~root", "./a",
    "a/.", "a/..", "..\\up", "a\\..\\up", "\\\\server\\share", "C:\\x", "C:", "C:x", "file:///etc", "%2e%2e",
    "%2e%2e%2f", "..%2f", "%252e%252e", "%c0%ae%c0%ae", "..%c0%af", "..%5c", "a\0", "\0", "a\0b", "a\n", "\n",
    "a\r", "a\t", " ", " a", "a ", "..;", "...", "....//", "..../", ".hidden", "-rf", "--help", "-", "a;b", "a|b",
    "a&b", "a$b", "$(x)", "`x`", "a*", "?", "[a]", "{a,b}", "a'b", 'a"b', "a<b", "a>b", "a:b", "a,b", "a=b", "a@b",
    "a#b", "a!b", "a^b", "a~b", "ä", "．．", "．．／", "‥", "∕", "／etc", "⁄", "a∕b", "\u202egnp", "\u200b", "\ufeff",
    "a\u0301", "e\u0301/..", "\ud800", "x" * 101, "x" * 1024, "../" * 50, "a/" * 50, "latest/..", "run/../run",
    "run/", "run//", "./run", "run/.", "run/./x", "%00", "a%00.pt", "..%00/", "\x7f", "\x1b[0m", "a\x08", "\x85",
    "a\u2028b", "*", "..*",
]  # fmt: skip


@pytest.mark.parametrize("name", TRICKS, ids=range(len(TRICKS)))
def test_no_name_leads_out_of_the_folder_of_runs(run: Path, tmp_path: Path, name: str) -> None:
    assert len(set(TRICKS)) >= 100
    with pytest.raises(ConfigError, match="--run-name"):
        wanted_by("latest", NAMES, tmp_path, name)
