"""Trains an agent: the same program as `mario train`."""

import sys

from mario_a3c.cli.main import main
from mario_a3c.cli.train import build_training_config, parse_args
from mario_a3c.config import TrainingConfig
from mario_a3c.training.run import run_training

__all__ = ["TrainingConfig", "build_training_config", "parse_args", "run_training"]

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
