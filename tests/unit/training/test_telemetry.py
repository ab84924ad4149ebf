"""What whole runs write about themselves."""

import json
import logging
import os
import sys
import threading
import time
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.metrics.lines import encode
from mario_a3c.metrics.reader import LineReader, last_record, read_records
from mario_a3c.metrics.schema import curves, problems_of
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.monitoring.health import Health, diagnose
from mario_a3c.training import telemetry as telemetry_module
from mario_a3c.training.measurements import NewestEvaluation
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopRequest
from tests.support.runs import NUM_ENVS, corridor_config, digest_of, resumed

pytestmark = pytest.mark.usefixtures("one_thread", "corridor")


def run_folder(folder: Path) -> Path:
    return folder / "runs" / "corridor"


def modes() -> dict[str, Any]:
    return {
        "sync": {},
        "overlapped": {"collector": CollectorConfig(rollout_steps=16, overlap_collect=True)},
        "replay": {"replay": ReplayConfig(per=True, per_capacity=64, per_batch=8)},
    }


@pytest.mark.parametrize("mode", modes())
def test_every_mode_writes_every_field_of_the_schema(tmp_path: Path, mode: str) -> None:
    result = run_training(replace(corridor_config(tmp_path, total_updates=8), **modes()[mode]))
    run = run_folder(tmp_path)
    for name in ("metrics", "episodes", "heartbeat"):
        records = list(LineReader(run / f"{name}.jsonl"))
        assert records
        assert [problem for record in records for problem in problems_of(record)] == []
    records = read_records(run)
    assert [record["update"] for record in records] == list(range(1, 9))
    assert [record["global_step"] for record in records] == [each * 16 * NUM_ENVS for each in range(1, 9)]
    last = records[-1]
    expected = {"sync": 0, "overlapped": 1, "replay": 0}[mode]
    assert last["policy_lag"] == expected
    assert (last["replay_push_total"] is not None) == (mode == "replay")
    assert (last["td_error_p90"] is not None) == (mode == "replay")
    assert last["avg_return"] == result.avg_return
    for name in ("loss_total", "recent_return_p50", "env_steps_per_sec", "updates_per_sec", "grad_norm", "memory_mb"):
        assert isinstance(last[name], float), name
    assert sum(last["end_shares"].values()) == pytest.approx(1)
    assert last["clear_rate_by_stage"].keys() == last["power_up_rate_by_stage"].keys() == {"1-1"}
    episodes = list(LineReader(run / "episodes.jsonl"))
    assert len(episodes) == last["episodes_total"] == result.num_episodes
    assert all(episode["is_whole"] for episode in episodes)
    recent = [episode["return"] for episode in episodes[-50:]]
    assert last["avg_return"] == pytest.approx(sum(recent) / len(recent))


def test_the_start_of_the_environments_is_an_event(tmp_path: Path) -> None:
    run_training(corridor_config(tmp_path, total_updates=1))
    (event,) = LineReader(run_folder(tmp_path) / "env_start.jsonl")
    assert (event["event"], event["num_envs"], event["num_groups"]) == ("ready", NUM_ENVS, 1)
    assert event["seconds"] >= 0


def test_the_newest_evaluation_is_in_the_metrics(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    newest = NewestEvaluation(path)
    assert newest.newest() == {}
    path.write_bytes(encode({"update": 3, "clear_rate": 0.25}) + encode({"update": 6, "clear_rate": 0.5}))
    assert newest.newest() == {"eval_clear_rate": 0.5, "eval_update": 6}
    assert newest.newest() == {"eval_clear_rate": 0.5, "eval_update": 6}


class FakeWandb(ModuleType):
    """Keeps what runs are begun with."""

    Error = RuntimeError

    def __init__(self) -> None:
        super().__init__("wandb")
        self.__spec__ = ModuleSpec("wandb", None)
        self.begun: list[dict[str, Any]] = []

    def Settings(self, **_: Any) -> None:  # noqa: N802 -- its name there
        return None

    def init(self, **settings: Any) -> Any:
        self.begun.append(settings)
        return SimpleNamespace(log=lambda curves, step: None, finish=lambda: None)


def test_a_resumed_run_is_the_same_one_in_weights_and_biases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    config = corridor_config(tmp_path, total_updates=6, max_steps=16 * NUM_ENVS)
    mirrored = replace(config, metrics=replace(config.metrics, wandb_project="mario"))
    run_training(mirrored)
    run_training(replace(resumed(config), budget=replace(config.budget, max_steps=2 * 16 * NUM_ENVS)))  # not sent
    run_training(resumed(mirrored))
    run_training(replace(mirrored, run=replace(config.run, fresh=True)))
    first, resumed_one, fresh = wandb.begun
    assert first["id"] == resumed_one["id"] != fresh["id"]
    assert {each["resume"] for each in wandb.begun} == {"allow"}
    assert json.loads((run_folder(tmp_path) / "run.json").read_text())["wandb_id"] == fresh["id"]


def test_tensorboards_own_reader_finds_the_same_curves(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    config = corridor_config(tmp_path, total_updates=6, max_steps=4 * 16 * NUM_ENVS)
    with caplog.at_level(logging.INFO, "mario"):
        run_training(config)
    run_training(resumed(config))
    (folder,) = (tmp_path / "tensorboard").iterdir()
    assert f"tensorboard_log_dir={folder}" in [
        each.getMessage() for each in caplog.records if each.name == "mario.train.log"
    ]
    assert json.loads((run_folder(tmp_path) / "run.json").read_text())["tensorboard_log_dir"] == str(folder)
    found = reading.EventAccumulator(str(folder)).Reload()
    assert "run corridor" in found.Tensors("meta/started")[0].tensor_proto.string_val[0].decode()
    expected: dict[str, list[tuple[int, float]]] = {}
    for record in read_records(run_folder(tmp_path)):
        for tag, number in curves(record):
            expected.setdefault(tag, []).append((record["global_step"], number))
    assert set(found.Tags()["scalars"]) == expected.keys()
    for tag, points in expected.items():
        events = found.Scalars(tag)
        assert [event.step for event in events] == [step for step, _ in points], tag
        assert [event.value for event in events] == pytest.approx([number for _, number in points], rel=1e-6), tag


def test_records_of_lost_work_are_removed_and_steps_rise_across_a_resumption(tmp_path: Path) -> None:
    """Killed after records of updates 4 and 5, whose work no checkpoint holds, in the middle of a line."""
    config = corridor_config(tmp_path, total_updates=6, max_steps=3 * 16 * NUM_ENVS)
    run_training(config)
    run = run_folder(tmp_path)
    with open(run / "metrics.jsonl", "ab") as file:
        file.writelines(encode({**read_records(run)[-1], "update": update, "session": 1}) for update in (4, 5))
        file.write(b'{"kind": "metrics", "upd')
    run_training(resumed(config))
    records = read_records(run)
    assert [(record["session"], record["update"]) for record in records] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 4),
        (2, 5),
        (2, 6),
    ]
    steps = [record["global_step"] for record in records]
    assert steps == sorted(set(steps))
    updates = [episode["update"] for episode in LineReader(run / "episodes.jsonl")]
    assert updates == sorted(updates)


def test_a_resumed_run_records_what_one_without_a_stop_records(tmp_path: Path) -> None:
    run_training(corridor_config(tmp_path / "whole", total_updates=8))
    config = corridor_config(tmp_path / "parts", total_updates=8, max_steps=4 * 16 * NUM_ENVS)
    run_training(config)
    run_training(resumed(config))
    names = (
        "update",
        "loss_total",
        "entropy",
        "grad_norm",
        "avg_return",
        "recent_return_p90",
        "episode_length_mean",
        "clear_rate_by_stage",
    )
    rows = [
        [[record[name] for name in names] for record in read_records(run_folder(tmp_path / each))]
        for each in ("whole", "parts")
    ]
    assert rows[0] == rows[1]


def test_telemetry_changes_nothing_of_what_is_learned(tmp_path: Path) -> None:
    """With records at every update and with none, the states are the same to the last bit."""
    digests = []
    for name, interval in (("often", 0.0), ("never", 1e9)):
        config = corridor_config(tmp_path / name, total_updates=5)
        config = replace(config, metrics=replace(config.metrics, metrics_interval=interval, episode_log=interval == 0))
        run_training(replace(config, monitoring=MonitoringConfig(heartbeat_interval=0.01, alerts=interval == 0)))
        digests.append(digest_of(load_checkpoint(run_folder(tmp_path / name) / "a3c_world1_stage1_latest.pt").state))
    assert digests[0] == digests[1]


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{handle}").endswith((".jsonl", ".0")):
            raise OSError(28, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)


def test_a_full_disk_is_said_once_for_each_file_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill_disk(monkeypatch)
    result = run_training(corridor_config(tmp_path, total_updates=6))
    assert result.num_updates == 6
    records = [each for each in caplog.records if each.name == "mario.metrics"]
    warnings = [each.getMessage() for each in records if each.levelno == logging.WARNING]
    assert len(warnings) == 4  # metrics, episodes, heartbeat, TensorBoard
    assert all("No space left on device" in warning and "training goes on" in warning for warning in warnings)


def test_a_run_trains_without_tensorboard_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from mario_a3c.training import telemetry_parts

    monkeypatch.setattr(telemetry_parts, "has_tensorboard", lambda: False)
    with caplog.at_level(logging.INFO, "mario"):
        run_training(corridor_config(tmp_path, total_updates=1))
    assert caplog.text.count("TensorBoard's files are not written") == 1
    assert not (tmp_path / "tensorboard").exists()


def test_a_folder_for_tensorboard_that_cannot_be_made_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tensorboard").write_text("a file")
    assert run_training(corridor_config(tmp_path, total_updates=3)).num_updates == 3
    warnings = [each.getMessage() for each in caplog.records if each.name == "mario.metrics"]
    assert len(warnings) == 1
    assert f"cannot write {tmp_path / 'tensorboard'}" in warnings[0]
    assert "Not a directory" in warnings[0]


def test_the_heartbeat_says_how_a_run_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = corridor_config(tmp_path, total_updates=2, max_steps=16 * NUM_ENVS)
    run_training(config)
    assert diagnose(run_folder(tmp_path)).health is Health.STOPPED
    run_training(resumed(config))
    found = diagnose(run_folder(tmp_path))
    assert (found.health, found.reason) == (Health.FINISHED, "all updates are made")
    assert found.heartbeat is not None
    assert (found.heartbeat["session"], found.heartbeat["update"]) == (2, 2)

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(telemetry_module.Telemetry, "record", fail)
    with pytest.raises(ZeroDivisionError):
        run_training(resumed(config, total_updates=3))
    found = diagnose(run_folder(tmp_path))
    assert (found.health, found.reason) == (Health.FAILED, "ZeroDivisionError: of all things")


def test_an_interruption_is_in_the_heartbeat(tmp_path: Path) -> None:
    stop = StopRequest()
    threading.Timer(0.3, stop.set).start()
    run_training(
        corridor_config(tmp_path, planned_updates=100_000, target_clear_rate=1.0, clear_window=100_000), stop=stop
    )
    phases = [beat["phase"] for beat in LineReader(run_folder(tmp_path) / "heartbeat.jsonl")]
    assert phases[-2:] == ["interrupt", "stopped"]


def slow_config(folder: Path, **monitoring: Any) -> TrainingConfig:
    return replace(corridor_config(folder, total_updates=12), monitoring=MonitoringConfig(**monitoring))


def test_slow_updates_write_one_trace_in_a_window(tmp_path: Path) -> None:
    run_training(
        slow_config(tmp_path, slow_step_seconds=1e-6, slow_step_trace_threshold=2, slow_step_trace_window=1000)
    )
    (trace,) = run_folder(tmp_path).glob("slow_step_trace_*.log")
    text = trace.read_text()
    for thread in ("MainThread", "mario-metrics", "mario-monitor"):
        assert f"Thread {thread} " in text
    assert "2 slow updates" in text


def test_every_window_has_its_own_trace(tmp_path: Path) -> None:
    run_training(slow_config(tmp_path, slow_step_seconds=1e-6, slow_step_trace_threshold=2, slow_step_trace_window=4))
    assert len(list(run_folder(tmp_path).glob("slow_step_trace_*.log"))) == 3


def test_usual_updates_are_not_slow(tmp_path: Path) -> None:
    run_training(slow_config(tmp_path, slow_step_seconds=1e6, slow_step_trace_threshold=1))
    assert not list(run_folder(tmp_path).glob("slow_step_trace_*.log"))


def test_a_frozen_learner_is_seen_and_its_stacks_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from mario_a3c.learning.learner import Learner

    real, seen = Learner.update, []

    def freeze_in_the_third(learner: Learner, *arguments: Any) -> Any:
        if learner.num_updates == 2:
            seen.append(wait_for_a_stall(run_folder(tmp_path)))
        return real(learner, *arguments)

    monkeypatch.setattr(Learner, "update", freeze_in_the_third)
    config = corridor_config(tmp_path, total_updates=4)
    run_training(replace(config, monitoring=MonitoringConfig(stall_seconds=0.2, heartbeat_interval=0.05)))
    (found,) = seen
    assert found.health is Health.STALLED
    assert "in phase learn" in found.reason
    text = Path(found.heartbeat["stack_file"]).read_text()
    for thread in ("MainThread", "mario-metrics", "mario-monitor"):
        assert f"Thread {thread} " in text
    assert "freeze_in_the_third" in text
    assert "nothing has moved" in caplog.text
    assert diagnose(run_folder(tmp_path)).health is Health.FINISHED


def wait_for_a_stall(run: Path) -> Any:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = diagnose(run)
        if found.health is Health.STALLED and found.heartbeat is not None and found.heartbeat["stack_file"]:
            return found
        time.sleep(0.05)
    raise AssertionError(f"no stall was seen: {last_record(run / 'heartbeat.jsonl')}")
