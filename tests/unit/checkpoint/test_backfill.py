"""Old descriptions without a count of steps: mended once, never lowered, and the original is kept."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mario_a3c.checkpoint.backfill import Outcome, backfill
from mario_a3c.errors import CheckpointError, ConfigError
from tests.support.checkpoints import NAMES, save_small
from tests.support.faulty_disk import Crash, RecordedDisk

OLD = {"global_step": 0, "global_update": 2000, "num_envs": 8, "note": "ä"}


def write(folder: Path, number: int, /, **metadata: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = NAMES.numbered(folder, number).with_suffix(".json")
    path.write_text(json.dumps(metadata))
    return path


def run(*paths: Path, **more: Any) -> list[Outcome]:
    return list(backfill(paths, **more))


def test_the_documented_example(tmp_path: Path) -> None:
    path = write(tmp_path / "run01", 2000, **OLD)
    original = path.read_bytes()
    (outcome,) = run(tmp_path)
    assert outcome.kind == "reconstructed"
    mended = json.loads(path.read_text())
    assert mended["global_step"] == 2000 * 8 * 64
    assert mended["reconstructed_step_source"] == "rebuild"
    details = mended.pop("reconstructed_step_details")
    assert details["formula"] == "global_update * num_envs * rollout_steps"
    assert (details["rollout_steps"], details["rollout_steps_source"]) == (64, "assumed")
    assert details["time"].endswith("+00:00")
    assert mended["note"] == "ä"
    assert path.with_name(path.name + ".bak").read_bytes() == original


def test_a_second_run_changes_nothing_and_keeps_the_first_backup(tmp_path: Path) -> None:
    path = write(tmp_path, 2000, **OLD)
    original = path.read_bytes()
    run(tmp_path)
    first = path.read_bytes()
    assert [each.kind for each in run(tmp_path, assume_rollout_steps=32)] == ["unchanged"]
    assert path.read_bytes() == first
    path.write_bytes(original)  # somebody put the original back
    run(tmp_path, assume_rollout_steps=32)
    assert json.loads(path.read_text())["global_step"] == 2000 * 8 * 32
    assert path.with_name(path.name + ".bak").read_bytes() == original


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, 2000, **OLD)
    save_small(tmp_path / "run", 3).with_suffix(".json").unlink()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    outcomes = run(tmp_path, is_dry_run=True)
    assert [each.kind for each in outcomes] == ["reconstructed", "rebuilt"]
    assert "step 0 -> 1,024,000 = 2,000 updates x 8 environments x 64 steps (assumed)" in outcomes[0].message
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_a_file_says_itself_counts_more_than_the_assumption(tmp_path: Path) -> None:
    ours = {"update": 10, "config": {"vector_env": {"num_envs": 4}, "collector": {"rollout_steps": 16}}}
    flat = {"global_update": 10, "global_step": None, "config": {"num_envs": 4, "rollout_steps": 20}}
    paths = [write(tmp_path, 10, **ours), write(tmp_path, 11, **flat)]
    run(tmp_path)
    assert [json.loads(path.read_text())["global_step"] for path in paths] == [640, 800]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"global_step": 5, "global_update": 2000, "num_envs": 8}, "unchanged"),
        ({"global_step": 10**12, "global_update": 1, "num_envs": 1}, "unchanged"),
        ({"global_step": 0, "global_update": 0, "num_envs": 8}, "unchanged"),
        ({"global_step": 0, "global_update": 2000}, "unclear"),
        ({"global_step": "many", "global_update": 2000, "num_envs": 8}, "unclear"),
        ({"global_step": -5, "global_update": 2000, "num_envs": 8}, "unclear"),
        ({"global_step": True, "global_update": 2000, "num_envs": 8}, "unclear"),
    ],
)
def test_what_is_right_or_unclear_is_left_alone(tmp_path: Path, content: dict[str, Any], kind: str) -> None:
    path = write(tmp_path, 7, **content)
    before = path.read_bytes()
    assert [each.kind for each in run(tmp_path)] == [kind]
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_missing_descriptions_come_from_the_checkpoint_or_from_its_name(tmp_path: Path) -> None:
    good = save_small(tmp_path / "good", 3)
    expected = good.with_suffix(".json").read_text()
    good.with_suffix(".json").unlink()
    old = tmp_path / "old"
    write(old, 1, global_step=512, global_update=1, num_envs=8)
    NAMES.numbered(old, 2).write_bytes(b"a file of another program")
    (tmp_path / "alone").mkdir()
    NAMES.numbered(tmp_path / "alone", 4).write_bytes(b"")
    run(tmp_path)
    assert good.with_suffix(".json").read_text() == expected
    rebuilt = json.loads(NAMES.numbered(old, 2).with_suffix(".json").read_text())
    assert (rebuilt["global_step"], rebuilt["reconstructed_from"]) == (2 * 8 * 64, "file name")
    assert rebuilt["reconstructed_step_source"] == "rebuild"
    alone = json.loads(NAMES.numbered(tmp_path / "alone", 4).with_suffix(".json").read_text())
    assert "global_step" not in alone
    assert alone["global_update"] == 4


def test_damaged_files_and_wrong_paths_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, 7)
    for content in ("{", "[1]", '{"a": 1, "a": 2}', "[" * 100_000):
        path.write_text(content)
        assert [each.kind for each in run(path)] == ["unclear"]
    with pytest.raises(CheckpointError, match="there is no"):
        run(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="--assume-rollout-steps"):
        run(tmp_path, assume_rollout_steps=0)


COUNTS = st.one_of(st.none(), st.integers(0, 10**12), st.just(0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(COUNTS, COUNTS, st.one_of(st.none(), st.integers(0, 4096))), max_size=4))
def test_no_step_is_lowered_and_nothing_changes_twice(
    tmp_path: Path, known: list[tuple[int | None, int | None, int | None]]
) -> None:
    folder = tmp_path / "set"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    before = {}
    for number, (step, update, num_envs) in enumerate(known, start=1):
        content = {"global_step": step, "global_update": update, "num_envs": num_envs}
        path = write(folder, number, **{name: value for name, value in content.items() if value is not None})
        before[path] = json.loads(path.read_text())
    run(folder)
    after = {path: json.loads(path.read_text()) for path in before}
    for path, metadata in before.items():
        assert after[path].get("global_step", 0) >= metadata.get("global_step", 0)
        has_changed = after[path] != metadata
        assert has_changed == ("reconstructed_step_source" in after[path])
        assert has_changed == path.with_name(path.name + ".bak").exists()
    assert not [each for each in run(folder) if each.is_change]


def test_a_crash_anywhere_is_mended_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mended(folder: Path) -> tuple[Any, bytes]:
        path = NAMES.numbered(folder, 2000).with_suffix(".json")
        metadata = json.loads(path.read_text())
        metadata["reconstructed_step_details"].pop("time")
        return metadata, path.with_name(path.name + ".bak").read_bytes()

    write(tmp_path / "whole", 2000, **OLD)
    with RecordedDisk(tmp_path / "whole").mounted(monkeypatch) as disk:
        run(tmp_path / "whole")
    assert disk.num_operations >= 12
    for point in range(2 * disk.num_operations):
        folder = tmp_path / str(point)
        write(folder, 2000, **OLD)
        crashing = RecordedDisk(folder, crash_at=point // 2, is_done_first=bool(point % 2))
        with crashing.mounted(monkeypatch), pytest.raises(Crash):
            run(folder)
        run(folder)
        assert mended(folder) == mended(tmp_path / "whole")


def script(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder / "scripts", capture_output=True, text=True, check=False)


def test_the_script_says_what_it_does_and_ends_with_a_code(tmp_path: Path, repository: Path) -> None:
    write(tmp_path, 2000, **OLD)
    checked = script(repository, "backfill_global_step.py", str(tmp_path), "--check")
    assert (checked.returncode, checked.stdout.splitlines()[-1]) == (1, "[migrate] 1 reconstructed")
    assert "would be reconstructed" in checked.stdout
    assert all(line.startswith("[migrate] ") for line in checked.stdout.splitlines())
    done = script(repository, "backfill_global_step.py", str(tmp_path), "--assume-rollout-steps", "10")
    assert done.returncode == 0
    assert "160,000" in done.stdout
    again = script(repository, "backfill_global_step.py", str(tmp_path), "--check", "--quiet")
    assert again.stdout == "[migrate] 1 unchanged\n"


@pytest.mark.slow
def test_inspecting_by_script(tmp_path: Path, repository: Path) -> None:
    shown = script(repository, "inspect_checkpoint.py", str(save_small(tmp_path / "run", 3)))
    assert shown.returncode == 0
    assert "learner.model.fc.weight" in shown.stdout
    refused = script(repository, "inspect_checkpoint.py", str(tmp_path / "missing.pt"))
    assert (refused.returncode, refused.stderr.startswith("inspect: there is no")) == (4, True)
