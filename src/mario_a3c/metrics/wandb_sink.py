"""Metrics mirrored to Weights & Biases."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mario_a3c.errors import SetupError
from mario_a3c.metrics.schema import Record, curves


class WeightsAndBiases:
    """A `Sink`. Online or offline as WANDB_MODE says; files lie in the run's folder."""

    def __init__(self, project: str, run_name: str, run_id: str, folder: Path, config: Mapping[str, Any]) -> None:
        """Logs in and begins, so that a wrong project or a missing key is said before anything is trained.

        A run with this id goes on where there is one; its settings may have changed since.
        """
        if importlib.util.find_spec("wandb") is None:
            raise SetupError(
                "--wandb-project needs the package wandb; `pip install 'mario-a3c[wandb]'` installs it, or leave the "
                "flag out"
            )
        import wandb

        self.name = f"W&B project {project}"
        try:
            self._run = wandb.init(
                project=project,
                name=run_name,
                id=run_id,
                resume="allow",
                allow_val_change=True,
                dir=str(folder),
                config=dict(config),
                settings=wandb.Settings(console="off", silent=True),
            )
        except wandb.Error as error:
            raise SetupError(
                f"Weights & Biases: {error}; log in with `wandb login`, or set WANDB_MODE=offline"
            ) from error

    def write(self, payload: Record) -> None:
        self._run.log(dict(curves(payload)), step=payload["global_step"])

    def close(self) -> None:
        self._run.finish()
