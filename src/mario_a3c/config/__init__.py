"""All options in one tree, and the ways into it: flags, JSON files, the reference page."""

from mario_a3c.config.training import TrainingConfig

__all__ = ["TrainingConfig"]
