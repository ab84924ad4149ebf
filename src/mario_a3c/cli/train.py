"""`mario train` and `python train.py`."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.checkpoint.names import CheckpointNames
from mario_a3c.cli.console_log import set_verbosity
from mario_a3c.config import TrainingConfig
from mario_a3c.config.command_line import parse_command
from mario_a3c.config.json_file import from_json, read_config, write_config
from mario_a3c.config.paths import parse_path
from mario_a3c.config.presets import Wanted, preset_config
from mario_a3c.config.training import PresetName
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.models.config import ExecutionConfig
from mario_a3c.options import option, section
from mario_a3c.run_dir import RunDir


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Train an agent to clear stages of Super Mario Bros. from pixels."""

    config: Path | None = option(None, "JSON file to take options from; flags override it")
    config_out: Path | None = option(None, "write the effective options to this JSON file before training")
    training: TrainingConfig = section(TrainingConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_args(argv)
    config = build_training_config(arguments)
    set_verbosity(quiet=config.display.quiet, verbose=config.display.verbose)
    if arguments.config_out is not None:
        write_config(config, arguments.config_out)
    from mario_a3c.models.wake import wake_device

    wake_device(config.execution.device_to_choose)
    from mario_a3c.training.run import run_training

    return run_training(config).reason.exit_code


def parse_args(argv: Sequence[str] | None = None) -> Arguments:
    """Flags, on top of what `--resume`, `--config` or `--preset` say. None means the flags of this process."""
    argv = sys.argv[1:] if argv is None else argv
    early = _early_flags(argv)
    default = Arguments(training=_config_before_flags(early))
    return parse_command(Arguments, argv, prog="mario train", default=default)


def build_training_config(arguments: Arguments) -> TrainingConfig:
    """The effective config: a preset, then the file or the resumed run, then flags."""
    return arguments.training


def _early_flags(argv: Sequence[str]) -> argparse.Namespace:
    """Flags that decide what the others start from, so that `--help` shows it, too."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--config", type=_optional_path)
    early.add_argument("--save-dir", type=_optional_path)
    early.add_argument("--world", type=int, default=1)
    early.add_argument("--stage", type=int, default=1)
    early.add_argument("--stage-span", type=int, default=1)
    early.add_argument("--num-envs", type=int)
    early.add_argument("--random-stage", action="store_true")
    early.add_argument("--stages", default="")
    early.add_argument("--device", default="best")
    early.add_argument("--allow-cpu", action="store_true")
    early.add_argument("-h", "--help", action="store_true")
    for flag in ("--preset", "--resume", "--run-name", "--backbone"):
        early.add_argument(flag)
    try:
        return early.parse_known_args(argv)[0]
    except (argparse.ArgumentError, ValueError):
        return early.parse_known_args([])[0]  # the real parser says what is wrong


def _optional_path(text: str) -> Path | None:
    return None if text == "None" else parse_path(text)


def _config_before_flags(early: argparse.Namespace) -> TrainingConfig:
    if early.resume not in (None, "None", "auto") and not early.help:
        return _config_of_resumed(early)
    wanted = Wanted(early.num_envs, early.backbone)
    if early.config is None:
        return preset_config(_preset(early.preset, early), wanted)
    named = early.preset or read_config(TrainingConfig, early.config).preset
    return read_config(TrainingConfig, early.config, preset_config(_preset(named, early), wanted))


def _preset(named: str | None, early: argparse.Namespace) -> PresetName:
    """The one that was named, else the device's. `--help` looks for no device, which takes seconds: a laptop's."""
    if named in ("cpu", "gpu"):
        return "cpu" if named == "cpu" else "gpu"
    if early.help or early.device not in ("best", "auto"):
        return "gpu" if early.device.startswith("cuda") else "cpu"
    from mario_a3c.models.execution import choose_device

    device = ExecutionConfig(device=early.device, allow_cpu=early.allow_cpu).device_to_choose
    return "cpu" if choose_device(device).type == "cpu" else "gpu"


def _config_of_resumed(early: argparse.Namespace) -> TrainingConfig:
    """What the run was started with, less its limits, which it may have stopped at, and less this machine's folders:
    a file that somebody sent does not decide where things are written to and loaded from."""
    from mario_a3c.checkpoint.choice import choose, wanted_by

    defaults = TrainingConfig()
    env = MarioEnvConfig(
        world=early.world,
        stage=early.stage,
        stage_span=early.stage_span,
        random_stage=early.random_stage,
        stages=early.stages,
    )
    names = CheckpointNames(*env.first_stage, is_multi=env.has_several_stages)
    wanted = wanted_by(early.resume, names, early.save_dir or defaults.run.save_dir, early.run_name)
    choice = choose(wanted, RunDir(wanted.folder).run_id)
    try:
        config = from_json(TrainingConfig, json.dumps(choice.checkpoint.metadata["config"]))
    except (ConfigError, KeyError) as error:
        raise CheckpointError(f"{choice.path} has settings that this version does not know: {error}") from error
    return dataclasses.replace(
        config,
        budget=dataclasses.replace(config.budget, max_steps=None, max_seconds=None),
        run=dataclasses.replace(config.run, resume=None, init_from=None, fresh=False, save_dir=defaults.run.save_dir),
        metrics=dataclasses.replace(config.metrics, tensorboard_dir=defaults.metrics.tensorboard_dir),
        cache=defaults.cache,
    )
