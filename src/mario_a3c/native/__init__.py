"""The console behind its C boundary, and the cartridge that goes into it."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mario_a3c.native.batch import BatchConsole
    from mario_a3c.native.console import Console
    from mario_a3c.native.level_picture import LevelPicture, level_pictures
    from mario_a3c.native.start_states import Stage
    from mario_a3c.native.view import View

__all__ = ["BatchConsole", "Console", "LevelPicture", "Stage", "View", "level_pictures"]

_HOMES = {
    "BatchConsole": "batch",
    "Console": "console",
    "LevelPicture": "level_picture",
    "Stage": "start_states",
    "View": "view",
    "level_pictures": "level_picture",
}


def __getattr__(name: str) -> Any:
    """Looks a public name up when it is first used: configs are read from this package without loading NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
