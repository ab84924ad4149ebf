"""`mario train` and `python train.py`."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.config import TrainingConfig
from mario_a3c.config.command_line import parse_command
from mario_a3c.config.json_file import read_config, write_config
from mario_a3c.config.paths import parse_path
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Train an agent to clear stages of Super Mario Bros. from pixels."""

    config: Path | None = option(None, "JSON file to take options from; flags override it")
    config_out: Path | None = option(None, "write the effective options to this JSON file before training")
    training: TrainingConfig = section(TrainingConfig)


def main(argv: Sequence[str]) -> int:
    arguments = parse_args(argv)
    config = build_training_config(arguments)
    if arguments.config_out is not None:
        write_config(config, arguments.config_out)
    from mario_a3c.training.run import run_training

    run_training(config)


def parse_args(argv: Sequence[str] | None = None) -> Arguments:
    """Flags, on top of the `--config` file when one is given. None means the flags of this process."""
    argv = sys.argv[1:] if argv is None else argv
    default = Arguments()
    config_file = _config_file(argv)
    if config_file is not None:
        default = dataclasses.replace(default, training=read_config(TrainingConfig, config_file))
    return parse_command(Arguments, argv, prog="mario train", default=default)


def build_training_config(arguments: Arguments) -> TrainingConfig:
    """The effective config: defaults, then the file, then flags."""
    return arguments.training


def _config_file(argv: Sequence[str]) -> Path | None:
    """`--config` is looked up first: its values become the defaults that flags and `--help` start from."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--config")
    try:
        text: str | None = early.parse_known_args(argv)[0].config
        return None if text in (None, "None") else parse_path(text)
    except (argparse.ArgumentError, ValueError):
        return None  # no file, or an impossible name, which the real parser complains about
