"""How a run begins: every rule of resuming, with what is said about it."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cli.main import main
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.errors import CheckpointError, ConfigError, SaveStateError
from mario_a3c.training.run import TrainingResult, run_training
from mario_a3c.training.stopping import StopRequest
from mario_a3c.training.trainer import Parts
from tests.support.checkpoints import NAMES
from tests.support.runs import NUM_ENVS, ROLLOUT, SHORT, corridor_config, resumed

pytestmark = pytest.mark.usefixtures("corridor_saved_often")


def stopped(folder: Path, num_updates: int = 3) -> TrainingConfig:
    """A run that has made some of its twenty updates, and the config that it was started with."""
    config = corridor_config(folder, collector=SHORT, total_updates=20, max_steps=num_updates * ROLLOUT)
    config = replace(config, run=replace(config.run, keep_checkpoints=10))
    run_training(config)
    return config


def one_more(config: TrainingConfig, **run: Any) -> TrainingResult:
    """Starts it again, until it has made five updates."""
    budget = replace(config.budget, max_steps=5 * ROLLOUT)
    return run_training(replace(config, budget=budget, run=replace(config.run, **run)))


def folder_of(config: TrainingConfig) -> Path:
    return config.run.save_dir / "corridor"


def damage(path: Path) -> None:
    os.truncate(path, 1000)


def test_started_again_an_unfinished_run_goes_on_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    assert one_more(config).num_updates == 5
    assert "holds this run, which has not finished: it goes on" in caplog.text
    assert "goes on from update 3" in caplog.text


def test_an_overlapped_run_says_what_it_does_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    collector = CollectorConfig(rollout_steps=4, overlap_collect=True)
    config = corridor_config(tmp_path, collector=collector, total_updates=20, max_steps=2 * ROLLOUT)
    run_training(config)
    assert one_more(config).num_updates == 5
    assert "the rollout that was being collected when this was saved is not part of it" in caplog.text


def test_a_run_of_another_version_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = stopped(tmp_path)

    def refuse(parts: Parts, state: object) -> None:
        raise SaveStateError("an environment's state has 7232 bytes, got 7224")

    monkeypatch.setattr(Parts, "restore", refuse)
    with pytest.raises(CheckpointError, match=r"7224, or by another version .*--init-from .*\.pt"):
        one_more(config)


def test_other_environments_cannot_go_on_with_what_was_saved(tmp_path: Path) -> None:
    config = stopped(tmp_path)
    other = replace(config, vector_env=replace(config.vector_env, vectorization="sync"))
    with pytest.raises(ConfigError, match=r"cannot change within a run: vector_env\.vectorization was native, is sync"):
        run_training(resumed(other))


def test_a_run_with_other_settings_is_not_continued_without_being_asked(tmp_path: Path) -> None:
    config = stopped(tmp_path)
    other = replace(config, learner=replace(config.learner, lr=0.5))
    with pytest.raises(ConfigError, match=r"other settings: learner\.lr was 0\.002, is 0\.5; .*--resume latest"):
        one_more(other)


def test_asked_for_changed_settings_are_applied_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    other = replace(config, learner=replace(config.learner, lr=0.5))
    assert one_more(other, resume="latest").num_updates == 5
    assert "settings that change from here on: learner.lr was 0.002, is 0.5" in caplog.text
    assert (
        json.loads(NAMES.latest(folder_of(config)).with_suffix(".json").read_text())["config"]["learner"]["lr"] == 0.5
    )


def test_what_the_state_depends_on_cannot_change(tmp_path: Path) -> None:
    config = stopped(tmp_path)
    model = replace(config.model, recurrent_type="lstm", hidden_size=128)
    envs = replace(config.vector_env, num_envs=NUM_ENVS * 2, env=replace(config.vector_env.env, stage=2))
    other = replace(config, model=model, vector_env=envs)
    with pytest.raises(ConfigError) as error:
        one_more(other, resume=str(folder_of(config)))
    for name in ("model.hidden_size", "model.recurrent_type was none, is lstm", "num_envs was 8, is 16", "env.stage"):
        assert name in str(error.value)


def test_a_damaged_newest_is_skipped_set_aside_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    folder = folder_of(config)
    damage(NAMES.numbered(folder, 3))
    assert one_more(config, resume="latest").num_updates == 5
    assert "skipped: " in caplog.text
    assert "0000003.pt cannot be used" in caplog.text
    assert "goes on from update 2" in caplog.text
    assert [path.name for path in (folder / "superseded").glob("*.pt")] == ["a3c_world1_stage1_0000003.pt"]
    assert NAMES.latest(folder).resolve() == NAMES.numbered(folder, 5)


def test_where_nothing_can_be_used_nothing_is_begun(tmp_path: Path) -> None:
    config = stopped(tmp_path)
    before = sorted(folder_of(config).glob("*.pt"))
    for path in before:
        if not path.is_symlink():
            damage(path)
    for resume in ("latest", None):  # asked for, or the same run started again
        with pytest.raises(CheckpointError, match=r"no checkpoint that can be used: .*0000003\.pt.*0000001\.pt"):
            one_more(config, resume=resume)
    assert sorted(folder_of(config).glob("*.pt")) == before


def test_from_an_older_one_later_ones_are_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    folder = folder_of(config)
    result = one_more(config, resume=str(NAMES.numbered(folder, 1)))
    assert (result.num_updates, result.run_dir) == (5, folder)
    assert sorted(path.name[-10:-3] for path in (folder / "superseded").glob("*.pt")) == ["0000002", "0000003"]
    assert "2 checkpoints after update 1 are in" in caplog.text


def test_a_file_on_its_own_begins_a_run_of_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    alone = tmp_path / "from_a_friend.pt"
    shutil.copy(NAMES.numbered(folder_of(config), 2), alone)
    result = one_more(config, resume=str(alone), run_name="mine")
    assert (result.run_dir.name, result.num_updates) == ("mine", 5)
    assert "a run of its own" in caplog.text
    ids = [json.loads((config.run.save_dir / name / "run.json").read_text())["run_id"] for name in ("corridor", "mine")]
    assert ids[0] != ids[1]


def test_a_copied_checkpoint_of_another_run_is_never_continued(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = stopped(tmp_path)
    other = stopped(tmp_path / "other", 4)
    for path in (NAMES.numbered(folder_of(other), 4), NAMES.numbered(folder_of(other), 4).with_suffix(".json")):
        shutil.copy(path, folder_of(config))
    assert one_more(config).num_updates == 5
    assert "belongs to another run" in caplog.text
    assert "goes on from update 3" in caplog.text


def test_a_match_elsewhere_is_only_mentioned_unless_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = stopped(tmp_path)
    anew = replace(config, budget=replace(config.budget, max_steps=ROLLOUT))
    result = run_training(replace(anew, run=replace(config.run, run_name=None)))
    assert result.num_updates == 1
    assert f"--resume {folder_of(config)} goes on with it" in caplog.text
    shutil.rmtree(result.run_dir)
    assert one_more(config, run_name=None, resume="auto").run_dir == folder_of(config)
    different = replace(config, learner=replace(config.learner, lr=0.3))
    with pytest.raises(CheckpointError, match="--resume auto: no checkpoint below"):
        one_more(different, run_name=None, resume="auto")
    with pytest.raises(CheckpointError, match="--resume auto: no checkpoint below"):
        one_more(different, run_name="another", resume="auto")
    assert not (different.run.save_dir / "another").exists()


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = stopped(tmp_path)
    folder = folder_of(config)
    for path in folder.glob("a3c_*"):
        path.unlink()
    leftover = folder / f".{NAMES.numbered(folder, 1).name}.{'0' * 16}.tmp"
    foreign = folder / ".somebody.else.tmp"
    for path in (leftover, foreign):
        path.write_text("")
    assert one_more(config).num_updates == 5
    assert "ended before its first checkpoint: it begins anew" in caplog.text
    assert "removed 1 unfinished files" in caplog.text
    assert foreign.exists()
    assert not leftover.exists()


def test_an_update_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are never half updated: what is saved is equal to what a run of fewer updates has."""
    from mario_a3c.checkpoint.store import load_checkpoint
    from tests.support.runs import digest_of

    run_training(corridor_config(tmp_path / "whole", collector=SHORT, total_updates=20, max_steps=3 * ROLLOUT))
    config = corridor_config(tmp_path / "broken", collector=SHORT, total_updates=20)
    request = StopRequest()
    calls: list[None] = []

    def fail_in_the_second_minibatch_of_update_four() -> None:
        calls.append(None)
        if len(calls) == 3 * 8 + 6:
            raise ZeroDivisionError("a defect")

    monkeypatch.setattr(request, "abandon_if_set", fail_in_the_second_minibatch_of_update_four)
    monkeypatch.setattr("mario_a3c.training.trainer._LONG_UPDATE_SECONDS", 1e9)
    with pytest.raises(ZeroDivisionError):
        run_training(config, stop=request)
    states = [load_checkpoint(NAMES.latest(tmp_path / each / "runs")).state for each in ("whole", "broken")]
    assert digest_of(states[0]["learner"]) == digest_of(states[1]["learner"])
    assert digest_of(states[0]["progress"]) == digest_of(states[1]["progress"])
    record = json.loads((folder_of(config) / "run.json").read_text())
    assert (record["status"], record["reason"]) == ("failed", "ZeroDivisionError('a defect')")
    run_training(resumed(config, total_updates=4))


def test_the_command_line_takes_settings_but_no_folders_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = stopped(tmp_path)
    out = tmp_path / "out.json"
    flags = ["--resume", str(folder_of(config)), "--total-updates", "4", "--config-out", str(out)]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["train", *flags]) == 0
    effective = json.loads(out.read_text())
    assert effective["learner"] == json.loads(to_json(config))["learner"]
    assert effective["run"]["save_dir"] == "trained_models"
    assert effective["cache"]["cache_dir"] is None
    assert not (tmp_path / "trained_models").exists()


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--resume", "latest"], 4, "has no runs"),
        (["--resume", "nowhere.pt"], 4, "there is no nowhere.pt"),
        (["--resume", "latest", "--run-name", "../up"], 2, "--run-name"),
        (["--resume", "latest", "--fresh"], 4, "has no runs"),
    ],
)
def test_what_cannot_be_resumed_ends_with_its_exit_code(
    tmp_path: Path, flags: list[str], code: int, words: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["train", *flags]) == code
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
