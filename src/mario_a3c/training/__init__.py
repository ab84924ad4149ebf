"""Training: the loop, what it is built from, and how it ends."""

from mario_a3c.training.run import run_training

__all__ = ["run_training"]
