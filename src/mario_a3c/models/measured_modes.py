"""What `mario bench model` found out about this CPU, kept for everybody who runs a network on it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch

from mario_a3c.cache_dir import CacheDir
from mario_a3c.durable_file import write_durably
from mario_a3c.models.config import Backbone
from mario_a3c.models.torch_probe import cpu_model

# Two measurements of the same thing differ by this much on a quiet machine.
_NOISE = 0.05


@dataclass(frozen=True, slots=True)
class MeasuredMode:
    precision: Literal["float32", "bfloat16"]
    is_compiled: bool
    speedup: float  # over eager float32, for acting or for learning, whichever gains less


def remember_modes(cache: CacheDir, backbone: Backbone, modes: Sequence[MeasuredMode]) -> None:
    content = json.dumps([asdict(mode) for mode in modes], indent=2)
    write_durably(_path(cache, backbone), content.encode())


def recall_fastest(
    cache: CacheDir, backbone: Backbone, *, with_bfloat16: bool, with_compilation: bool
) -> MeasuredMode | None:
    """The fastest allowed way that clearly beats eager float32; none where nothing does, or nothing was measured."""
    allowed = [
        mode
        for mode in _recall(_path(cache, backbone))
        if mode.speedup > 1 + _NOISE
        and (with_bfloat16 or mode.precision == "float32")
        and (with_compilation or not mode.is_compiled)
    ]
    return max(allowed, key=lambda mode: mode.speedup, default=None)


def _recall(path: Path) -> list[MeasuredMode]:
    """Nothing where the file is missing or was damaged."""
    try:
        return [MeasuredMode(**mode) for mode in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _path(cache: CacheDir, backbone: Backbone) -> Path:
    machine = f"{torch.__version__} {torch.get_num_threads()} {cpu_model()}"
    return cache.folder("probes") / f"modes-{backbone}-{hashlib.sha256(machine.encode()).hexdigest()[:16]}.json"
