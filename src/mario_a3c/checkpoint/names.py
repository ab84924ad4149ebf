"""What checkpoints are called.

`a3c_world{W}_stage{S}_{update:07d}.pt` in the run's folder, `..._latest.pt` and `..._best.pt` beside it, and the first
of these also in the folder of all runs; a run of several stages has the numbers of the first, and `_multi`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

LATEST, BEST = "latest", "best"
_STEM = r"a3c_world(?P<world>\d+)_stage(?P<stage>\d+)(?P<multi>_multi)?"
_NUMBERED = re.compile(_STEM + r"_(?P<update>\d{7,18})\.pt")
_LATEST = re.compile(_STEM + r"_latest\.pt")
OWN_FILES = re.compile(r"a3c_world\d+_stage\d+\w*\.(pt|json)|run\.json")
"""Everything of a run's that is written durably."""


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

    def best(self, folder: Path) -> Path:
        return folder / f"{self.stem}_{BEST}.pt"

    def all_numbered(self, folder: Path) -> list[Path]:
        """Oldest first."""
        return [path for path in all_numbered(folder) if path.name.rpartition("_")[0] == self.stem]


def names_in(path: Path) -> CheckpointNames | None:
    """What a numbered or latest checkpoint's own name says, if it is one of ours."""
    match = _NUMBERED.fullmatch(path.name) or _LATEST.fullmatch(path.name)
    if match is None:
        return None
    return CheckpointNames(int(match["world"]), int(match["stage"]), is_multi=match["multi"] is not None)


def update_in(path: Path) -> int | None:
    """The number in a numbered checkpoint's name."""
    match = _NUMBERED.fullmatch(path.name)
    return None if match is None else int(match["update"])


def all_numbered(folder: Path) -> list[Path]:
    """Of whatever stage, oldest first."""
    found = [(update, path) for path in folder.glob("a3c_*.pt") if (update := update_in(path)) is not None]
    return [path for _, path in sorted(found)]


def all_latest(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("a3c_*_latest.pt") if _LATEST.fullmatch(path.name))


def all_links(folder: Path) -> list[tuple[str, Path]]:
    """`latest` and `best`, where they are there."""
    found = [(kind, path) for kind in (LATEST, BEST) for path in folder.glob(f"a3c_*_{kind}.pt")]
    return sorted(found)
