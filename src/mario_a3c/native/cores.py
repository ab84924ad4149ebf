"""The cores of this machine that this process may use."""

import os


def num_cores() -> int:
    """Not all that there are: a container or `taskset` may leave it a few."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
