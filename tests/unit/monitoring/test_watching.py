"""Stalls, slow updates, resources and health, with clocks and drivers of the tests' own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.metrics.lines import encode
from mario_a3c.metrics.schema import complete
from mario_a3c.monitoring import nvml
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.monitoring.health import Health, diagnose
from mario_a3c.monitoring.nvml import Gpu, GpuSample, NvmlError
from mario_a3c.monitoring.pulse import Pulse
from mario_a3c.monitoring.resources import Resources
from mario_a3c.monitoring.slow_steps import SlowSteps
from mario_a3c.monitoring.stalls import Stalls
from mario_a3c.monitoring.watchdog import Watchdog


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def watch(stalls: Stalls, clock: Clock, seconds: float) -> bool:
    """Looks every half second for so long; whether a stall began."""
    has_begun = False
    for _ in range(round(seconds * 2)):
        clock.now += 0.5
        has_begun = stalls.look() or has_begun
    return has_begun


def steady_run() -> tuple[Stalls, Clock, Pulse]:
    """Warm, with a beat every second."""
    clock, pulse = Clock(), Pulse()
    stalls = Stalls(pulse, 8.0, clock)
    stalls.is_warm = True
    pulse.enter("learn")
    for _ in range(10):
        pulse.beat()
        assert not watch(stalls, clock, 1.0)
    return stalls, clock, pulse


def test_silence_is_a_stall_within_nine_seconds_and_is_told_once() -> None:
    stalls, clock, pulse = steady_run()
    assert watch(stalls, clock, 9.0)
    seen = [stalls.is_stalled]
    assert not watch(stalls, clock, 100.0)
    pulse.beat()
    assert not watch(stalls, clock, 0.5)
    assert [*seen, stalls.is_stalled] == [True, False]
    assert watch(stalls, clock, 9.0)


def test_a_slow_machine_is_given_the_time_that_it_has_shown_to_need() -> None:
    stalls, clock, pulse = steady_run()
    for _ in range(3):
        pulse.beat()
        assert not watch(stalls, clock, 5.0)
    pulse.beat()
    assert not watch(stalls, clock, 20.0)
    assert watch(stalls, clock, 10.0)


def test_compiling_and_saving_may_take_longer() -> None:
    clock, pulse = Clock(), Pulse()
    stalls = Stalls(pulse, 8.0, clock)
    assert not watch(stalls, clock, 290.0)
    assert watch(stalls, clock, 20.0)
    stalls, clock, pulse = steady_run()
    pulse.enter("save")
    assert not watch(stalls, clock, 500.0)
    pulse.enter("learn")
    assert not watch(stalls, clock, 1.0)
    assert watch(stalls, clock, 9.0)  # what saving took does not count


def test_steps_of_environments_are_beats() -> None:
    num_steps = 0
    pulse, clock = Pulse(lambda: num_steps), Clock()
    stalls = Stalls(pulse, 8.0, clock)
    stalls.is_warm = True
    pulse.enter("collect")
    for _ in range(100):
        num_steps += 1
        assert not watch(stalls, clock, 1.0)


def slow_steps(folder: Path, **options: Any) -> tuple[SlowSteps, Clock, Pulse]:
    clock, pulse = Clock(), Pulse()
    return SlowSteps(MonitoringConfig(**options), folder, pulse, clock), clock, pulse


def make_update(steps: SlowSteps, clock: Clock, pulse: Pulse, seconds: float) -> Path | None:
    began = pulse.update_since = clock.now
    clock.now += seconds
    steps.look()
    return steps.after_update(began, seconds)


def test_what_is_usual_decides_what_is_slow(tmp_path: Path) -> None:
    steps, clock, pulse = slow_steps(tmp_path, slow_step_trace_threshold=1)
    assert steps.limit_seconds() is None
    assert [make_update(steps, clock, pulse, 2.0) for _ in range(10)] == [None] * 10
    assert steps.limit_seconds() == 8.0
    assert make_update(steps, clock, pulse, 7.0) is None
    assert make_update(steps, clock, pulse, 9.0) is not None


def test_the_stacks_are_those_of_the_slow_update_itself(tmp_path: Path) -> None:
    steps, clock, pulse = slow_steps(tmp_path, slow_step_seconds=1.0, slow_step_trace_threshold=1)
    began = pulse.update_since = clock.now

    def in_the_middle() -> None:
        clock.now += 2.0
        steps.look()

    in_the_middle()
    path = steps.after_update(began, 2.0)
    assert path is not None
    assert "in_the_middle" in path.read_text()
    assert "while it ran" in path.read_text()


def test_a_trace_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    steps, clock, pulse = slow_steps(tmp_path / "file", slow_step_seconds=0.1, slow_step_trace_threshold=1)
    assert make_update(steps, clock, pulse, 1.0) is None
    assert "were not written" in caplog.text


class FakeGpu:
    def __init__(self, *utilizations: float) -> None:
        self.utilizations, self.is_closed = list(utilizations), False

    def sample(self) -> GpuSample:
        if not self.utilizations:
            raise NvmlError("GPU is lost")
        return GpuSample(self.utilizations.pop(0), 1000.0, 50.0, None)

    def close(self) -> None:
        self.is_closed = True


def test_the_gpus_window_has_last_mean_and_peak(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gpu = FakeGpu(100, 10, 20, 60)
    resources = Resources(tmp_path, gpu, gpu_window=3)
    for _ in range(4):
        resources.sample()
    fields = resources.fields
    assert (fields["gpu_util_last"], fields["gpu_util_mean_window"], fields["gpu_util_peak_window"]) == (60, 30, 60)
    assert (fields["gpu_mem_used_mb"], fields["gpu_power_w"]) == (1000.0, None)
    resources.sample()
    assert "GPU is lost" in caplog.text
    assert "gpu_util_last" not in resources.fields
    assert gpu.is_closed
    resources.sample()
    assert caplog.text.count("GPU is lost") == 1


def test_a_process_knows_its_own_size(tmp_path: Path) -> None:
    resources = Resources(tmp_path, None, 10)
    burn_until = time.process_time() + 0.05
    while time.process_time() < burn_until:
        pass
    resources.sample()
    assert resources.fields["cpu_percent"] > 0
    assert 5 < resources.fields["memory_mb"] < 100_000
    assert resources.fields["disk_free_mb"] > 0
    complete("metrics", resources.fields)


def test_without_a_driver_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_LIBRARY", "libthere-is-no-such.so.1")
    with pytest.raises(NvmlError, match="no NVIDIA driver"):
        Gpu("GPU-0")


DRIVER = """
#include <string.h>
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned long long total, free, used; } memory;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = (void *)0x123456789abcdef;
    return strcmp(uuid, "GPU-1") ? 6 : 0;
}
int nvmlDeviceGetUtilizationRates(void *device, utilization *out) {
    if (device != (void *)0x123456789abcdef) return 2;
    out->gpu = 87; out->memory = 12; return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory *out) {
    out->total = 8ull << 30; out->free = 5ull << 30; out->used = 3ull << 30; return 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out) { *out = 61; return sensor; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *out) { return 3; }
const char *nvmlErrorString(int status) { return status == 6 ? "Not Found" : "Not Supported"; }
"""


def test_the_drivers_library_is_called_as_its_header_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the signatures and structures of nvml.h: the real one needs a GPU."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "driver.c"], check=True)
    monkeypatch.setattr(nvml, "_LIBRARY", str(library))
    gpu = Gpu("GPU-1")
    assert gpu.sample() == GpuSample(87.0, 3072.0, 61.0, None)  # this one keeps its power to itself
    gpu.close()
    with pytest.raises(NvmlError, match="nvmlDeviceGetHandleByUUID: Not Found"):
        Gpu("GPU-2")


def beat(folder: Path, **fields: Any) -> None:
    usual = {
        "time": time.time(),
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "phase": "learn",
        "is_stalled": False,
    }
    (folder / "heartbeat.jsonl").write_bytes(encode(complete("heartbeat", {**usual, **fields})))


def test_health_is_told_from_the_heartbeat(tmp_path: Path) -> None:
    assert diagnose(tmp_path).health is Health.UNKNOWN
    beat(tmp_path)
    assert diagnose(tmp_path).health is Health.RUNNING
    assert diagnose(tmp_path, now=time.time() + 6).health is Health.FROZEN
    beat(tmp_path, interval_seconds=60.0)
    assert diagnose(tmp_path, now=time.time() + 100).health is Health.RUNNING
    beat(tmp_path, is_stalled=True, quiet_seconds=9.0, stack_file="stall_trace.log")
    found = diagnose(tmp_path)
    assert found.health is Health.STALLED
    assert "stall_trace.log" in found.reason
    for phase in ("finished", "stopped", "failed"):
        beat(tmp_path, phase=phase, message="why", time=0.0)
        assert (diagnose(tmp_path).health.value, diagnose(tmp_path).reason) == (phase, "why")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    beat(tmp_path, pid=gone.pid)
    assert diagnose(tmp_path).health is Health.DIED
    beat(tmp_path, pid=gone.pid, host="elsewhere")
    assert diagnose(tmp_path).health is Health.RUNNING  # nobody here can look for its process


def test_an_old_heartbeat_and_one_that_is_torn_are_no_reason_to_fail(tmp_path: Path) -> None:
    line = json.dumps({"kind": "heartbeat", "time": time.time(), "pid": os.getpid(), "phase": "learn"})
    (tmp_path / "heartbeat.jsonl").write_text(line + '\n{"kind": "hea')
    assert diagnose(tmp_path).health is Health.RUNNING


STALL = """
import sys, time
from pathlib import Path
from mario_a3c.monitoring.config import MonitoringConfig
from mario_a3c.monitoring.monitor import Monitor
from mario_a3c.monitoring.pulse import Pulse
from mario_a3c.monitoring.resources import Resources
folder = Path(sys.argv[1])
config = MonitoringConfig(stall_exit=0.3, heartbeat_interval=0.05)
monitor = Monitor(config, folder, Pulse(), Resources(folder, None, 10), dict, rotate_bytes=1 << 20, keep_rotated=1)
monitor.start()
time.sleep(60)
"""


HOLD = """
import ctypes, sys, time
from pathlib import Path
from mario_a3c.monitoring.watchdog import Watchdog
dog = Watchdog(Path(sys.argv[1]), seconds=0.2)
dog.start()
def hold_the_interpreter():
    ctypes.PyDLL(None).usleep(600_000)  # PyDLL does not let go of it
hold_the_interpreter()
dog.close()
"""


def test_native_code_that_holds_the_interpreter_leaves_its_stack(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", HOLD, str(tmp_path)], timeout=30, check=True)
    assert "hold_the_interpreter" in (tmp_path / "frozen_trace.log").read_text()
    beat(tmp_path)
    assert "frozen_trace.log" in diagnose(tmp_path, now=time.time() + 60).reason


def test_a_watchdog_that_was_fed_leaves_nothing(tmp_path: Path) -> None:
    dog = Watchdog(tmp_path)
    dog.start()
    dog.feed()
    dog.close()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_stuck_ends_itself_where_it_was_told_to(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STALL, str(tmp_path)], timeout=30, check=False, capture_output=True)
    assert done.returncode == 3
    assert diagnose(tmp_path).health is Health.FAILED
