"""Where every thread is."""

import sys
import threading
import time
import traceback
from datetime import datetime
from pathlib import Path

from mario_a3c.durable_file import write_durably


def stacks_of_all_threads() -> str:
    """Every thread, the main one first, as Python sees it: native code shows as the call that led there."""
    frames = sys._current_frames()
    names = {each.ident: each.name for each in threading.enumerate()}
    main = threading.main_thread().ident
    parts = []
    for ident in sorted(frames, key=lambda each: (each != main, names.get(each, ""))):
        stack = "".join(traceback.format_stack(frames[ident]))
        parts.append(f"Thread {names.get(ident, 'not made by Python')} ({ident}), most recent call last:\n{stack}")
    return "\n".join(parts)


def write_stacks(folder: Path, prefix: str, title: str, stacks: str) -> Path:
    """`<prefix>_<timestamp>.log`; a second one in the same second gets a number."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")  # noqa: DTZ005 -- of the user's wall
    path = folder / f"{prefix}_{stamp}.log"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{prefix}_{stamp}-{number}.log"
    write_durably(path, f"{title}\n{time.strftime('%Y-%m-%d %H:%M:%S')}\n\n{stacks}".encode())
    return path
