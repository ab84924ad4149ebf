"""How closely a run is watched."""

from dataclasses import dataclass

from mario_a3c.errors import ConfigError
from mario_a3c.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitoringConfig:
    """Heartbeat, resources, stalls and slow steps."""

    heartbeat_interval: float = option(1.0, "seconds between heartbeats")
    monitor_interval: float = option(1.0, "seconds between looks at CPU, memory and GPU")
    gpu_window: int = option(100, "looks over which mean and peak of the GPU are taken")
    stall_seconds: float = option(
        8.0,
        "no step and no minibatch for so long, or five times the longest pause so far: a stall, and stacks are written",
    )
    stall_exit: float | None = option(None, "end the process, with exit code 3, after so many seconds without any")
    slow_step_seconds: float = option(0.0, "an update that takes longer is slow; 0: four times the usual, at least 1 s")
    slow_step_trace_threshold: int = option(3, "so many slow updates in a window write all threads' stacks")
    slow_step_trace_window: int = option(100, "updates in such a window; each writes one file at the most")
    alerts: bool = option(True, "say when something looks wrong, and what to do")

    def __post_init__(self) -> None:
        positive = {
            "--heartbeat-interval": self.heartbeat_interval,
            "--monitor-interval": self.monitor_interval,
            "--stall-seconds": self.stall_seconds,
            "--gpu-window": self.gpu_window,
            "--slow-step-trace-threshold": self.slow_step_trace_threshold,
            "--slow-step-trace-window": self.slow_step_trace_window,
        }
        for flag, number in positive.items():
            _expect(number > 0, flag, "above 0", number)
        _expect(self.slow_step_seconds >= 0, "--slow-step-seconds", "0 or more", self.slow_step_seconds)
        _expect(self.stall_exit is None or self.stall_exit > 0, "--stall-exit", "above 0", self.stall_exit)


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
