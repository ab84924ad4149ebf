"""`run_training`: from a config to a trained agent."""

import logging
from typing import NoReturn

from mario_a3c import __version__
from mario_a3c.cache_dir import CacheDir
from mario_a3c.config import TrainingConfig
from mario_a3c.errors import SetupError
from mario_a3c.native.rom import locate_rom

LOG = logging.getLogger("mario.train")


def run_training(config: TrainingConfig) -> NoReturn:
    """Prepares a run. The learner is not part of this version yet, and this says so instead of pretending."""
    rom = locate_rom(config.rom, CacheDir.open(config.cache))
    LOG.info("game: %s (%s)", rom.title, rom.path)
    raise SetupError(
        f"everything that exists so far is ready, but version {__version__} cannot train yet: "
        "environments, networks and the learner are still to come (docs/ROADMAP.md)"
    )
