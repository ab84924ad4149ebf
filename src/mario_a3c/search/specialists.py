"""Specialists: an agent for each stage, trained one after another in this process, and their weights in one folder.

A stage whose weights are there is done; one whose run was interrupted goes on where it was.
"""

import gc
import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mario_a3c.cache_dir import CacheDir
from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.checkpoint.sidecar import read_sidecar
from mario_a3c.checkpoint.store import read_metadata
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import RunConfig
from mario_a3c.durable_file import write_durably
from mario_a3c.envs.stages import parse_stages
from mario_a3c.errors import ConfigError, NumericsError, StorageError, first_line
from mario_a3c.evaluation.report_files import read_report
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.start_states import Stage, stages_of
from mario_a3c.run_dir import RunDir
from mario_a3c.search.config import SpecialistsConfig
from mario_a3c.training.agent import export_agent
from mario_a3c.training.report import duration
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopReason, StopRequest

LOG = logging.getLogger("mario.search")

# For a run that has had all its seconds, and whose weights are only to be taken out; budgets are above 0.
_NO_SECONDS = 1e-3
_WORDS = {StopReason.CLEARED: "cleared", StopReason.SECONDS: "seconds are over"}


@dataclass(frozen=True, slots=True)
class Specialist:
    """One stage's agent, and how its run ended. Rates are of its last training episodes."""

    stage: str
    ended: str
    is_cleared: bool = False  # fresh episodes have confirmed it
    clear_rate: float = 0.0
    num_steps: int = 0
    seconds: float = 0.0
    has_weights: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    specialists: Sequence[Specialist]  # all in the folder, by stage
    failed: Sequence[Specialist]
    is_interrupted: bool


def stages_asked_for(config: TrainingConfig, specialists: SpecialistsConfig) -> list[Stage]:
    """Those that are named, less those that agents of the report clear."""
    _expect_ours(config)
    env = config.vector_env.env
    rom = locate_rom(config.rom, CacheDir.open(config.cache), game=env.game, graphics=env.graphics)
    named = parse_stages(specialists.stages, stages_of(rom))
    if specialists.report is None:
        return named
    contenders = read_report(specialists.report, "--report")["contenders"]
    cleared = {
        stage
        for contender in contenders
        for stage, is_cleared in contender["cleared"].items()
        if is_cleared and not contender["is_baseline"]
    }
    return [stage for stage in named if str(stage) not in cleared]


def weights_file(out: Path, stage: Stage) -> Path:
    return out / f"{stage}.pt"


def train_specialists(config: TrainingConfig, specialists: SpecialistsConfig, stages: Sequence[Stage]) -> Outcome:
    """Trains those that have no weights in the folder. One that fails is noted, and the others go on."""
    out, stop = specialists.out, StopRequest()
    out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(out / "specialists.json")
    missing = [stage for stage in stages if not weights_file(out, stage).exists()]
    for stage in stages:
        if stage not in missing:
            LOG.info("%s is there already: %s is skipped", weights_file(out, stage), stage)
            rows.setdefault(stage, _found(stage, weights_file(out, stage)))
    started = time.monotonic()
    with stop.on_signals():
        for num_done, stage in enumerate(missing, start=1):
            rows[stage] = row = _train(config, specialists, stage, stop)
            gc.collect()  # parts of a run refer to each other: their memory, of the GPU above all, is the next one's
            write_rows(out, rows)
            if stop.is_set:
                break
            eta = (time.monotonic() - started) / num_done * (len(missing) - num_done)
            LOG.info(
                "%s, %d of %d: %s; clear rate %.0f%%, %s steps in %s, ETA %s",
                stage, num_done, len(missing), row.ended, 100 * row.clear_rate, f"{row.num_steps:,}",
                duration(row.seconds), duration(eta),
            )  # fmt: skip
    write_rows(out, rows)
    failed = [rows[stage] for stage in missing if stage in rows and not rows[stage].has_weights]
    return Outcome(in_order(rows), [] if stop.is_set else failed, is_interrupted=stop.is_set)


def _train(config: TrainingConfig, specialists: SpecialistsConfig, stage: Stage, stop: StopRequest) -> Specialist:
    try:
        result = run_training(settings_of(config, specialists, stage), stop=stop)
    except (NumericsError, ConfigError) as error:
        LOG.warning("%s: %s", stage, error)
        return Specialist(str(stage), f"failed: {first_line(error)}")
    except KeyboardInterrupt:
        if not stop.is_set:
            raise
        return Specialist(str(stage), StopReason.SIGNAL.value)  # while a way was looked for: there is no run yet
    has_weights = result.reason is not StopReason.SIGNAL and result.checkpoint is not None
    if has_weights:
        assert result.checkpoint is not None
        export_agent(result.checkpoint.resolve(), weights_file(specialists.out, stage))
    return Specialist(
        stage=str(stage),
        ended=_WORDS.get(result.reason, result.reason.value),
        is_cleared=result.reason is StopReason.CLEARED,
        clear_rate=result.clear_rate,
        num_steps=result.num_steps,
        seconds=result.seconds,
        has_weights=has_weights,
    )


def settings_of(config: TrainingConfig, specialists: SpecialistsConfig, stage: Stage) -> TrainingConfig:
    """A run that has not finished goes on for the rest of its seconds; one that has, but has no weights in the folder
    any more, begins anew."""
    runs = specialists.out / "runs"
    folder = runs / str(stage)
    is_new = config.run.fresh or (RunDir(folder).read_record() or {}).get("status") == "finished"
    seconds = specialists.seconds - (0.0 if is_new else _seconds_of_run(folder, stage))
    return replace(
        config,
        budget=replace(config.budget, max_seconds=max(seconds, _NO_SECONDS)),
        run=replace(config.run, save_dir=runs, run_name=str(stage), fresh=is_new, keep_checkpoints=1),
        vector_env=replace(config.vector_env, env=replace(config.vector_env.env, stages=str(stage))),
        metrics=replace(config.metrics, tensorboard=False),
        evaluation=replace(config.evaluation, video_interval=0, final_evaluation=False),
    )


def _seconds_of_run(folder: Path, stage: Stage) -> float:
    latest = CheckpointNames(stage.world, stage.number).latest(folder)
    described = read_sidecar(latest.resolve()) if latest.exists() else None
    return float((described or {}).get("seconds", 0.0))


def _found(stage: Stage, path: Path) -> Specialist:
    """Of a file that nothing is noted about."""
    metadata = read_metadata(path)
    return Specialist(
        stage=str(stage), ended="was there", clear_rate=metadata.get("clear_rate") or 0.0,
        num_steps=metadata.get("global_step") or 0, seconds=metadata.get("seconds") or 0.0, has_weights=True,
    )  # fmt: skip


def _expect_ours(config: TrainingConfig) -> None:
    """Flags for `mario train` that would be overridden are an error, not ignored."""
    env, run = config.vector_env.env, config.run
    is_given = {
        "--stages": bool(env.stages), "--held-out-stages": bool(env.held_out_stages), "--world": env.world != 1,
        "--stage": env.stage != 1, "--stage-span": env.stage_span != 1, "--random-stage": env.random_stage,
        "--max-seconds": config.budget.max_seconds is not None, "--save-dir": run.save_dir != RunConfig().save_dir,
        "--run-name": run.run_name is not None, "--resume": run.resume is not None,
    }  # fmt: skip
    given = [flag for flag, holds in is_given.items() if holds]
    if given:
        raise ConfigError(
            f"leave {', '.join(given)} out behind `--`: stages, seconds and folder are given before it, with --stages, "
            "--seconds and --out, and what was interrupted goes on by itself"
        )


def in_order(rows: Mapping[Stage, Specialist]) -> list[Specialist]:
    return [rows[stage] for stage in sorted(rows)]


def read_rows(path: Path) -> dict[Stage, Specialist]:
    if not path.exists():
        return {}
    try:
        return {Stage.parse(each["stage"]): Specialist(**each) for each in json.loads(path.read_text())}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{path} cannot be used: {error!r}; remove it, or take another --out") from error


def write_rows(out: Path, rows: Mapping[Stage, Specialist]) -> None:
    plain = [asdict(each) for each in in_order(rows)]
    write_durably(out / "specialists.json", (json.dumps(plain, indent=1) + "\n").encode())
    write_durably(out / "specialists.md", (as_table(in_order(rows)) + "\n").encode())


def as_table(specialists: Iterable[Specialist]) -> str:
    lines = ["| stage | ended | clear rate | steps | seconds | weights |", "| --- | --- | --- | --- | --- | --- |"]
    for each in specialists:
        cells = (
            each.stage, each.ended.replace("|", "\\|"), f"{each.clear_rate:.0%}", f"{each.num_steps:,}",
            f"{each.seconds:.1f}", f"`{each.stage}.pt`" if each.has_weights else "none",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
