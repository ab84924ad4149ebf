"""How long it takes to draw a sample by priority: on the CPU, and where the learner is."""

import statistics
import time
from dataclasses import dataclass

import torch

from mario_a3c.experience.priorities import Priorities

_WARM_UP_DRAWS = 20


@dataclass(frozen=True, slots=True)
class SamplingTime:
    """The median of several draws, each waited for."""

    device: str
    capacity: int
    batch: int
    microseconds: float


def measure_sampling(capacity: int, batch: int, num_draws: int) -> list[SamplingTime]:
    """Draws and new priorities, as replay makes them at every sample; on the CPU and on a GPU where there is one."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    return [SamplingTime(device, capacity, batch, _measure(device, capacity, batch, num_draws)) for device in devices]


def _measure(device: str, capacity: int, batch: int, num_draws: int) -> float:
    priorities = Priorities(capacity, 0.6, torch.device(device), seed=0)
    drawn = torch.rand(capacity, generator=torch.Generator().manual_seed(0)).to(device)
    priorities.set(torch.arange(capacity, device=device), drawn)
    seconds = []
    for _ in range(_WARM_UP_DRAWS + num_draws):
        started = time.perf_counter()
        places, _ = priorities.draw(batch)
        priorities.set(places, drawn[:batch])
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return round(1e6 * statistics.median(seconds[_WARM_UP_DRAWS:]), 1)
