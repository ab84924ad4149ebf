"""Whether a run lives, stalls or has ended, and how: told from its heartbeat alone."""

import os
import socket
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from mario_a3c.metrics.reader import last_record
from mario_a3c.metrics.schema import Record
from mario_a3c.monitoring.monitor import HEARTBEAT_FILE
from mario_a3c.monitoring.watchdog import FROZEN_FILE

ENDED = ("finished", "stopped", "failed")
_SILENT_SECONDS = 5.0


class Health(Enum):
    """The value is what people read."""

    RUNNING = "running"
    STALLED = "stalled"
    FROZEN = "frozen"
    DIED = "died"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @property
    def is_well(self) -> bool:
        return self in (Health.RUNNING, Health.FINISHED, Health.STOPPED)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    health: Health
    reason: str
    heartbeat: Record | None


def diagnose(run: Path, now: float | None = None) -> Diagnosis:
    """From the last heartbeat, its age, and whether its process is there."""
    beat = last_record(run / HEARTBEAT_FILE)
    if beat is None:
        return Diagnosis(
            Health.UNKNOWN, "there is no heartbeat: the run has not begun, or is of an older version", None
        )
    phase, age = str(beat.get("phase")), (time.time() if now is None else now) - float(beat.get("time") or 0)
    if phase in ENDED:
        return Diagnosis(Health(phase), str(beat.get("message") or ""), beat)
    pid, is_here = int(beat.get("pid") or 0), beat.get("host") == socket.gethostname()
    if is_here and not is_alive(pid):
        return Diagnosis(Health.DIED, f"process {pid} is gone and said no good-bye; it was in phase {phase}", beat)
    if age > max(_SILENT_SECONDS, 5 * float(beat.get("interval_seconds") or 0)):
        reason = f"no heartbeat for {age:.0f} s" + (f", though process {pid} is there" if is_here else "")
        frozen = run / FROZEN_FILE
        reason += f"; stacks are in {frozen}" if frozen.exists() and frozen.stat().st_size else ""
        return Diagnosis(Health.FROZEN, reason, beat)
    if beat.get("is_stalled"):
        stacks = f"; stacks are in {beat['stack_file']}" if beat.get("stack_file") else ""
        quiet = float(beat.get("quiet_seconds") or 0)
        return Diagnosis(Health.STALLED, f"nothing has moved for {quiet:.0f} s, in phase {phase}{stacks}", beat)
    return Diagnosis(Health.RUNNING, f"process {pid}, heartbeat {max(age, 0.0):.1f} s old, in phase {phase}", beat)


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True  # not Linux
    return state != "Z"
