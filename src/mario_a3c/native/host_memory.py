"""What the C library does with memory that was freed."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # malloc.h
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Keeps it for the next tensors, where glibc gives it back to the system and asks anew: a minibatch then begins
    with thousands of page faults, which take a quarter of the time of training on a CPU. False elsewhere than on glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER))
