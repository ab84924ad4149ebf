"""What something was measured on."""

import platform
from pathlib import Path
from typing import Any

from mario_a3c import __version__
from mario_a3c.native.cores import num_cores
from mario_a3c.native.library import load_library
from mario_a3c.native.rom import Rom


def measured_with(rom: Rom) -> dict[str, Any]:
    """For results about the game itself."""
    return {
        "version": __version__,
        "native_source_hash": load_library().mario_source_hash().decode(),
        "rom": f"{rom.title} {rom.cartridge.sha1}",
        "machine": machine_name(),
        "num_cores": num_cores(),
        "python": platform.python_version(),
    }


def machine_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def thread_counts() -> list[int]:
    """One, the powers of two, and all cores."""
    return sorted({1, *(2**power for power in range(1, 12) if 2**power < num_cores()), num_cores()})
