"""Names that the documents promise exist under that name. Each capability adds its rows here when it lands."""

import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

# name in a module at the root or in the package -> the row of the feature table that promises it
IMPORTABLE = {
    "train:parse_args": "XX-01",
    "train:build_training_config": "XX-01",
    "train:run_training": "XX-01",
    "train:TrainingConfig": "XX-01",
    "mario_a3c.training.snapshots:save_model_snapshot": "XX-03",
    "mario_a3c.checkpoint.choice:find_matching_checkpoint_recursive": "CK-08",
    "mario_a3c.envs:MarioEnvConfig": "EN-01",
    "mario_a3c.envs:MarioVectorEnvConfig": "EN-02",
    "mario_a3c.envs:create_vector_env": "EN-03",
    "mario_a3c.envs:create_eval_env": "EN-07",
    "mario_a3c.envs.mario:FrameSkip": "EN-08",
    "mario_a3c.envs.mario:FusedPreprocessWrapper": "EN-12",
    "mario_a3c.envs.mario:MarioRewardWrapper": "EN-14",
    "mario_a3c.envs.mario:ProgressInfoWrapper": "EN-17",
    "mario_a3c.models:MarioActorCritic": "MO-01",
    "mario_a3c.models:ImpalaBlock": "MO-02",
    "mario_a3c.models:PositionalEncoding": "MO-06",
    "mario_a3c.models:NoisyLinear": "MO-09",
    "mario_a3c.models:ModelOutput": "MO-10",
    "mario_a3c.algorithms.vtrace:vtrace": "AL-02",
    "mario_a3c.algorithms.gae:gae": "AL-03",
    "mario_a3c.algorithms.returns:compute_returns": "AL-04",
    "mario_a3c.learning.schedules:CosineWithWarmup": "AL-11",
    "mario_a3c.experience.rollout:RolloutBuffer": "DA-01",
    "mario_a3c.experience.replay:PrioritizedReplay": "DA-02",
    "mario_a3c.experience.sample:ReplaySample": "DA-03",
    "mario_a3c.metrics.reader:read_records": "LG-29",
    "mario_a3c.monitoring.alerts:Alerts": "LG-26",
}
FLAGS = {
    ("train", "--config-out"): "CK-15",
    ("train", "--resume"): "CK-06",
    ("train", "--overlap-collect"): "OV-01",
    ("train", "--auto-mem"): "OP-02",
    ("train", "--device"): "OP-01",
    ("train", "--max-steps"): "OP-07",
    ("train", "--num-envs"): "OP-09",
    ("train", "--rollout-steps"): "OP-09",
    ("train", "--total-updates"): "OP-09",
    ("train", "--save-dir"): "XX-02",
    ("train", "--log-interval"): "XX-02",
    ("train", "--return-window"): "XX-02",
    ("train", "--wandb-project"): "LG-05",
    ("train", "--gpu-window"): "LG-12",
    ("train", "--monitor-interval"): "LG-17",
    ("train", "--slow-step-trace-threshold"): "LG-22",
    ("train", "--slow-step-trace-window"): "LG-22",
    ("train", "--slow-step-seconds"): "LG-22",
    ("train", "--quiet"): "LG-24",
    ("train", "-q"): "LG-24",
    ("train", "-v"): "LG-24",
    ("eval", "--checkpoint"): "EV-01",
    ("eval", "--episodes"): "EV-01",
    ("eval", "--render"): "EV-04",
    ("eval", "--video"): "EV-05",
    ("train", "--video-interval"): "EV-10",
    ("play", "--world"): "EN-19",
    ("play", "--stage"): "EN-19",
    ("doctor", "--recurrent-type"): "MO-08",
}
FILES = {
    "requirements.txt": "PK-02",
    "environment.yml": "PK-03",
    "Dockerfile": "PK-04",
    "train.py": "PK-11",
    "test.py": "PK-11",
    "scripts": "PK-11",
    "scripts/benchmark_overlap.py": "OV-08",
    "scripts/backfill_global_step.py": "CK-12",
    "scripts/optuna_search.py": "OP-03",
    "scripts/pbt_search.py": "AL-19",
    "scripts/inspect_checkpoint.py": "CK-05",
    ".github/workflows/backfill.yml": "CK-14",
    "scripts/compatibility_smoke.py": "CK-16",
    ".github/workflows/ci.yml": "PK-14",
    ".github/workflows/image.yml": "XX-08",
    "scripts/train_remote.py": "PK-15",
    "docs/ROADMAP.md": "PK-19",
    "docs/GPU_UTILIZATION_ANALYSIS.md": "PK-19",
    "docs/DOCUMENTATION_POLICY.md": "PK-19",
    "docs/ENV_DEBUGGING_REPORT.md": "PK-18",
    "docs/FAQ.md": "PK-20",
    "docs/features.md": "OP-14",
    "docs/FAQ.zh-CN.md": "PK-23",
    "docs/operations.zh-CN.md": "PK-23",
    "docs/metrics_schema.md": "LG-15",
    "scripts/metrics_summary.py": "LG-29",
    "docs/decision_record.md": "PK-19",
    "README.zh-CN.md": "PK-23",
    "docs/decision_record.zh-CN.md": "PK-23",
}


@pytest.mark.parametrize("name", IMPORTABLE)
def test_a_documented_name_can_be_imported(name: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(repository))
    module, _, attribute = name.partition(":")
    assert hasattr(importlib.import_module(module), attribute), IMPORTABLE[name]


@pytest.mark.parametrize(("command", "flag"), FLAGS)
def test_a_documented_flag_is_in_the_help(command: str, flag: str) -> None:
    assert flag in re.split(r"[\s,|]+", help_of(command)), FLAGS[command, flag]


@functools.cache
def help_of(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mario_a3c", command, "--help"], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", FILES)
def test_a_documented_file_is_there(name: str, repository: Path) -> None:
    assert (repository / name).exists(), FILES[name]
