"""`run_training`: from a config to a trained agent."""

import json
import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.durable_file import write_durably
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.errors import StorageError
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.run_dir import RunDir
from mario_a3c.training.build import Training, build_training
from mario_a3c.training.clear_confirmation import ClearRule, modes_to_confirm
from mario_a3c.training.evaluating import CONFIRMING_EPISODES, open_evaluation
from mario_a3c.training.fitting import fit_memory, is_wanted
from mario_a3c.training.global_random import seed_global_generators
from mario_a3c.training.identity import config_digest, versions
from mario_a3c.training.report import ReportProgress, duration, return_text
from mario_a3c.training.resuming import choose_checkpoint, open_run, restore
from mario_a3c.training.snapshots import SaveCheckpoints
from mario_a3c.training.starts import ReportStarts
from mario_a3c.training.stopping import StopReason, StopRequest
from mario_a3c.training.teacher import read_teacher
from mario_a3c.training.telemetry import Telemetry, open_telemetry
from mario_a3c.training.warm_start import read_initial_weights

LOG = logging.getLogger("mario.train")


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a run ended; averages are over its last episodes."""

    reason: StopReason
    avg_return: float
    clear_rate: float
    furthest: float
    num_updates: int
    num_steps: int
    num_episodes: int
    seconds: float
    run_dir: Path
    checkpoint: Path | None  # the latest


def run_training(config: TrainingConfig, *, stop: StopRequest | None = None) -> TrainingResult:
    """Trains until the budget, the clear rate or a signal ends it; the last complete update is saved."""
    stop = stop or StopRequest()
    cache = CacheDir.open(config.cache)
    names = names_of(config)
    beginning = open_run(config, names)
    run_dir = beginning.run_dir
    with run_dir.locked(), stop.on_signals():
        choice = choose_checkpoint(beginning, config)
        initial_weights = read_initial_weights(config) if choice is None else None
        num_updates = 0 if choice is None else int(choice.checkpoint.metadata["update"])
        if is_wanted(config) and choice is None:
            config = fit_memory(config, lambda smaller: attempt_update(smaller, cache, stop))
        seed_global_generators(config.vector_env.seed)
        training = build_training(
            config, cache, stop,
            failure_dir=run_dir.path, initial_weights=initial_weights, teacher=read_teacher(config, num_updates),
        )  # fmt: skip
        try:
            if choice is not None:
                restore(training, choice, run_dir)
                training = replace(training, initial_weights=choice.checkpoint.metadata.get("initial_weights"))
            with open_telemetry(config, training, run_dir) as telemetry:
                return train(config, training, run_dir, names, telemetry)
        finally:
            training.trainer.parts.close()


def attempt_update(config: TrainingConfig, cache: CacheDir, stop: StopRequest) -> None:
    """Builds everything, and makes one update with it."""
    trainer = build_training(config, cache, stop).trainer
    try:
        trainer.make_update()
    finally:
        trainer.parts.close()


def names_of(config: TrainingConfig) -> CheckpointNames:
    env = config.vector_env.env
    return CheckpointNames(*env.first_stage, is_multi=env.has_several_stages)


def train(
    config: TrainingConfig, training: Training, run_dir: RunDir, names: CheckpointNames, telemetry: Telemetry
) -> TrainingResult:
    trainer, progress = training.trainer, training.trainer.parts.progress
    metadata = {**describe(config, training, run_dir), **telemetry.links}
    saving = SaveCheckpoints(
        trainer, names, run_dir.path, metadata,
        interval_seconds=config.run.save_interval, num_kept=config.run.keep_checkpoints,
    )  # fmt: skip
    evaluation = open_evaluation(config, training, run_dir, metadata)
    trainer.confirms_clear, trainer.confirm_margin = evaluation.confirms_clear, evaluation.confirm_margin
    announce(config, training, run_dir)
    write_record(run_dir, metadata, status="running")
    warm_up(training)
    telemetry.begin()
    unit = ProgressUnit.of_option(config.vector_env.env.progress)
    report = ReportProgress(trainer, config.run.log_interval, unit, is_silent=telemetry.has_panel)
    trainer.tasks = [telemetry, report, ReportStarts(trainer.parts.starts), saving, *evaluation.tasks]
    with closing(saving):
        try:
            reason = trainer.run()
        except Exception as error:
            saving.save_last_complete()
            record_failure(run_dir, metadata, error)
            raise
        if reason is StopReason.SIGNAL:
            LOG.warning("interrupted")
            telemetry.interrupted()
        report.report()
        saving.save()
    latest = names.latest(run_dir.path)
    result = TrainingResult(
        reason=reason,
        avg_return=progress.avg_return,
        clear_rate=progress.clear_rate,
        furthest=progress.furthest,
        num_updates=progress.num_updates,
        num_steps=progress.num_steps,
        num_episodes=progress.num_episodes,
        seconds=progress.seconds,
        run_dir=run_dir.path,
        checkpoint=latest if latest.exists() else None,
    )
    status = "finished" if reason.exit_code == 0 else "stopped"
    telemetry.ended(status, reason.value)
    write_record(run_dir, metadata, status=status, reason=reason.name.lower(), update=progress.num_updates)
    conclude(result, unit)
    with trainer.parts.timing.pulse.during("evaluating"):
        evaluation.conclude(reason)
    return result


def describe(config: TrainingConfig, training: Training, run_dir: RunDir) -> dict[str, Any]:
    """What a checkpoint and `run.json` say about a run; enough to evaluate and to resume without any flag."""
    effective = replace(config, model=training.model_config)
    envs = training.envs[0]
    game: dict[str, Any] = {}
    if isinstance(envs, MarioBatch):
        game = {"rom": envs.rom.title, "rom_sha1": envs.rom.cartridge.sha1, "actions": list(envs.action_names)}
    plain = json.loads(to_json(effective))
    return {
        "run": run_dir.path.name,
        "run_id": run_dir.run_id or secrets.token_hex(8),
        **versions(),
        "device": training.execution.device,
        "precision": training.execution.precision,
        "num_actions": envs.num_actions,
        **game,
        **({} if training.initial_weights is None else {"initial_weights": dict(training.initial_weights)}),
        "config_sha256": config_digest(plain),
        "config": plain,
    }


def write_record(run_dir: RunDir, metadata: Mapping[str, Any], **more: Any) -> None:
    record = {**metadata, **more, "written_at": time.time()}
    write_durably(run_dir.record, (json.dumps(record, indent=2) + "\n").encode())


def record_failure(run_dir: RunDir, metadata: Mapping[str, Any], error: Exception) -> None:
    """A disk that fails here, too, must not hide what went wrong."""
    try:
        write_record(run_dir, metadata, status="failed", reason=repr(error))
    except StorageError as another:
        LOG.warning("%s", another)


def announce(config: TrainingConfig, training: Training, run_dir: RunDir) -> None:
    execution, budget = training.execution, config.budget
    rate = budget.clear_rate_to_reach
    LOG.info(
        "%s on %s (%s, %s), preset %s: %s, %d environments x %d steps",
        stages_of_run(training), execution.device, execution.precision, execution.reason, config.preset,
        training.model_config.backbone, sum(each.num_envs for each in training.envs), config.collector.rollout_steps,
    )  # fmt: skip
    goal = "" if rate is None else f"until {describe_goal(config, rate)}; "
    LOG.info("%sat most %s updates; the run is in %s", goal, f"{budget.num_updates:,}", run_dir.path)


def describe_goal(config: TrainingConfig, rate: float) -> str:
    of_training = f"of the last {config.budget.clear_window}"
    if not config.evaluation.confirm_clear:
        return f"{rate:.0%} {of_training} episodes reach the flag"
    asked_from = max(0.0, rate - config.evaluation.confirm_margin)
    rule = ClearRule(rate, CONFIRMING_EPISODES)
    modes = modes_to_confirm(config.vector_env.env)
    each = "" if modes == ("sampled",) else f" each ({', '.join(modes)})"
    fresh = f"{rule.num_clears} of {rule.num_episodes} fresh episodes{each}"
    return f"{fresh} reach the flag, which says {rate:.0%}; played from {asked_from:.0%} {of_training} on"


def warm_up(training: Training) -> None:
    """Before the first step: where networks are compiled and steps recorded, that is not a part of learning."""
    execution = training.execution
    is_compiled = execution.compilation != "none"
    if not is_compiled and execution.device == "cpu":
        return
    if is_compiled:
        LOG.info("the network is compiled first, which takes up to a minute")
    started = time.perf_counter()
    with training.trainer.parts.timing.pulse.during("compile"):
        training.trainer.parts.warm_up()
    LOG.info("%s in %s", "compiled" if is_compiled else "warmed up", duration(time.perf_counter() - started))


def stages_of_run(training: Training) -> str:
    envs = training.envs[0]
    stages = list(map(str, envs.stages)) if isinstance(envs, MarioBatch) else []
    return f"stage {' '.join(stages)}" if len(stages) <= 1 else f"{len(stages)} stages, {stages[0]} to {stages[-1]},"


def conclude(result: TrainingResult, unit: ProgressUnit) -> None:
    LOG.info(
        "ended after %s: %s; %s updates, %s steps, %s steps/s, clear rate %.0f%%, return %s, furthest %s; %s",
        duration(result.seconds),
        result.reason.value,
        f"{result.num_updates:,}",
        f"{result.num_steps:,}",
        f"{result.num_steps / max(result.seconds, 1e-9):,.0f}",
        100 * result.clear_rate,
        return_text(result.avg_return),
        unit.text(result.furthest),
        f"go on with --resume {result.checkpoint}" if result.checkpoint else "nothing was saved",
    )
