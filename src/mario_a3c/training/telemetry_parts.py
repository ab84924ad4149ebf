"""What a run's telemetry is made of, decided from its config and its folder."""

import json
import logging
import secrets
import threading
import time
from datetime import datetime
from pathlib import Path

import torch

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.metrics.config import MetricsConfig
from mario_a3c.metrics.parquet import ParquetTable, has_duckdb
from mario_a3c.metrics.reader import last_record
from mario_a3c.metrics.tensorboard_sink import TensorBoard, has_tensorboard
from mario_a3c.metrics.wandb_sink import WeightsAndBiases
from mario_a3c.metrics.writer import Sink
from mario_a3c.monitoring.alerts import AlertContext
from mario_a3c.monitoring.monitor import HEARTBEAT_FILE
from mario_a3c.monitoring.nvml import Gpu, NvmlError
from mario_a3c.run_dir import RunDir
from mario_a3c.training.build import Training

TENSORBOARD_FOLDER, WANDB_ID = "tensorboard_log_dir", "wandb_id"  # in `run.json`

LOG = logging.getLogger("mario.train")
MONITOR_LOG = logging.getLogger("mario.monitor")


def next_session(run: Path) -> int:
    """Which start of the run this is, from 1."""
    last = last_record(run / HEARTBEAT_FILE)
    return int((last or {}).get("session") or 0) + 1


def tensorboard_folder(config: MetricsConfig, run_dir: RunDir) -> Path | None:
    """None where nothing is written. A run that goes on has its folder already."""
    if not config.tensorboard:
        return None
    if not has_tensorboard():
        LOG.info(
            "TensorBoard's files are not written: `pip install tensorboard`, or --no-tensorboard to hear no more of it"
        )
        return None
    known = recorded(run_dir, TENSORBOARD_FOLDER)
    if known is not None:
        return Path(known)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")  # noqa: DTZ005 -- of the user's wall
    folder, number = config.tensorboard_dir / stamp, 1
    while folder.exists():
        number += 1
        folder = config.tensorboard_dir / f"{stamp}-{number}"
    return folder.absolute()


def wandb_run_id(config: MetricsConfig, run_dir: RunDir) -> str | None:
    """Of a run that goes on what it has, also while nothing is sent there; None where there was never anything."""
    known = recorded(run_dir, WANDB_ID)
    return known if known or config.wandb_project is None else secrets.token_hex(8)


def recorded(run_dir: RunDir, name: str) -> str | None:
    """What an earlier start of the run says of it."""
    text = (run_dir.read_record() or {}).get(name)
    return text if isinstance(text, str) and text else None


def make_mirrors(
    config: TrainingConfig, run_dir: RunDir, tensorboard: Path | None, wandb_id: str | None, num_steps: int
) -> list[Sink]:
    """Everything that gets the metrics beside the lines of JSON."""
    mirrors: list[Sink] = []
    project, name = config.metrics.wandb_project, run_dir.path.name
    if tensorboard is not None:
        started = f"{datetime.now():%Y-%m-%d %H:%M:%S}, run {name}"  # noqa: DTZ005
        mirrors.append(TensorBoard(tensorboard, started=started, first_step=num_steps + 1 if num_steps else 0))
    if project is not None and wandb_id is not None:
        mirrors.append(WeightsAndBiases(project, name, wandb_id, run_dir.path, json.loads(to_json(config))))
    return mirrors


def make_table(run_dir: RunDir) -> list[Sink]:
    """The Parquet table, where the package that writes it is there."""
    if has_duckdb():
        return [ParquetTable(run_dir.path)]
    LOG.info("metrics/latest.parquet is not written: it needs `pip install duckdb`")
    return []


def find_gpu(device: str) -> Gpu | None:
    """What the driver can be asked about; without it, the reason is said once."""
    if torch.device(device).type != "cuda":
        MONITOR_LOG.info("the GPU's fields are null: the run is on the %s", device)
        return None
    try:
        uuid = str(torch.cuda.get_device_properties(device).uuid)
        return Gpu(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
    except (NvmlError, AttributeError) as error:
        MONITOR_LOG.info("the GPU's fields are null: %s", error)
        return None


def alert_context(config: TrainingConfig, training: Training) -> AlertContext:
    return AlertContext(
        num_actions=training.envs[0].num_actions,
        num_envs=sum(each.num_envs for each in training.envs),
        per_sample_interval=config.replay.per_sample_interval if config.replay.per else None,
    )


def cpu_seconds_of(thread: threading.Thread) -> float:
    """0 where the system has no clock for threads, or the thread has ended."""
    if thread.ident is None or not thread.is_alive() or not hasattr(time, "pthread_getcpuclockid"):
        return 0.0
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
