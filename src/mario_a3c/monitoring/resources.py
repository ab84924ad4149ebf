"""CPU, memory, disk and GPU, looked at now and then."""

import logging
import os
import resource
import shutil
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Protocol

from mario_a3c.metrics.schema import Record
from mario_a3c.monitoring.nvml import GpuSample, NvmlError

LOG = logging.getLogger("mario.monitor")

_STATM, _MEMINFO = Path("/proc/self/statm"), Path("/proc/meminfo")


class GpuSource(Protocol):
    def sample(self) -> GpuSample: ...

    def close(self) -> None: ...


class Resources:
    """Samples of this process and its GPU. `fields` are those of the last sample, under their names in the records."""

    def __init__(self, folder: Path, gpu: GpuSource | None, gpu_window: int) -> None:
        self._folder, self._gpu = folder, gpu
        self._samples: deque[GpuSample] = deque(maxlen=gpu_window)
        self._cpu_seconds, self._at = time.process_time(), time.monotonic()
        self.fields: Record = {}

    def sample(self) -> None:
        seconds, at = time.process_time(), time.monotonic()
        cpu_percent = 100 * (seconds - self._cpu_seconds) / max(at - self._at, 1e-9)
        self._cpu_seconds, self._at = seconds, at
        self.fields = {
            "cpu_percent": round(cpu_percent, 1),
            "memory_mb": round(resident_megabytes(), 1),
            "memory_free_mb": free_megabytes(),
            "disk_free_mb": self._disk_free(),
            "num_threads": threading.active_count(),
            **self._gpu_fields(),
        }

    def close(self) -> None:
        if self._gpu is not None:
            self._gpu.close()

    def _gpu_fields(self) -> Record:
        if self._gpu is None:
            return {}
        try:
            last = self._gpu.sample()
        except NvmlError as error:
            LOG.warning("the GPU's fields end here: %s", error)
            self._gpu.close()
            self._gpu = None
            return {}
        self._samples.append(last)
        return {
            "gpu_util_last": last.util_percent,
            "gpu_util_mean_window": round(sum(each.util_percent for each in self._samples) / len(self._samples), 2),
            "gpu_util_peak_window": max(each.util_percent for each in self._samples),
            "gpu_mem_used_mb": round(last.mem_used_mb, 1),
            "gpu_mem_peak_mb": round(max(each.mem_used_mb for each in self._samples), 1),
            "gpu_temperature_c": last.temperature_c,
            "gpu_power_w": last.power_w,
        }

    def _disk_free(self) -> float | None:
        try:
            return round(shutil.disk_usage(self._folder).free / 2**20, 1)
        except OSError:
            return None  # the folder has vanished, which those who write to it say


def resident_megabytes() -> float:
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # what other systems have: the largest so far
    return largest / 2**20 if sys.platform == "darwin" else largest / 2**10


def free_megabytes() -> float | None:
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return round(int(lines["MemAvailable"].split()[0]) / 1024, 1)
    except (OSError, KeyError, ValueError):
        return None
