"""What checkpoints are called, and which one is meant.

`a3c_world{W}_stage{S}_{update:07d}.pt` in the run's folder, `..._latest.pt` beside it and in the folder of all runs;
a run of several stages has the numbers of the first, and `_multi`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from mario_a3c.errors import CheckpointError

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class CheckpointNames:
    """Of one run."""

    world: int
    stage: int
    is_multi: bool = False

    @property
    def stem(self) -> str:
        return f"a3c_world{self.world}_stage{self.stage}" + ("_multi" if self.is_multi else "")

    def numbered(self, folder: Path, update: int) -> Path:
        return folder / f"{self.stem}_{update:07d}.pt"

    def latest(self, folder: Path) -> Path:
        return folder / f"{self.stem}_{LATEST}.pt"

    def all_numbered(self, folder: Path) -> list[Path]:
        """Oldest first."""
        pattern = re.compile(re.escape(self.stem) + r"_\d{7,}\.pt")
        return sorted(
            (path for path in folder.glob(f"{self.stem}_*.pt") if pattern.fullmatch(path.name)),
            key=lambda path: int(path.stem.rpartition("_")[2]),
        )

    def to_resume(self, resume: str, save_dir: Path, run_name: str | None) -> Path:
        """The file that `--resume` means, with every link followed."""
        path = Path(resume).expanduser()
        if resume == LATEST:
            path = self.latest(save_dir) if run_name is None else _only_latest(save_dir / run_name, self)
        if not path.is_file():
            there = sorted(each.parent.name for each in save_dir.glob("*/a3c_*_latest.pt"))
            raise CheckpointError(
                f"--resume {resume}: there is no {path}; "
                + (f"runs with a checkpoint in {save_dir}: {', '.join(there)}" if there else f"{save_dir} has no runs")
            )
        return path.resolve()


def _only_latest(folder: Path, names: CheckpointNames) -> Path:
    """A run has one: whoever names the run need not name its stage, too."""
    found = sorted(folder.glob(f"a3c_*_{LATEST}.pt"))
    return found[0] if len(found) == 1 else names.latest(folder)
