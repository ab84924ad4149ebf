"""Log lines on the terminal: `[rom] ...`, `[replay][stat] ...`; the words are the logger's name below `mario.`."""

import logging
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    StreamHandler = logging.StreamHandler[TextIO]
else:
    StreamHandler = logging.StreamHandler  # Python 3.10 cannot subscript it


class PrefixFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        prefix = "][".join(record.name.removeprefix("mario.").split("."))
        level = (
            "" if record.levelno < logging.WARNING else f"[{'warn' if record.levelno == logging.WARNING else 'error'}]"
        )
        message = record.getMessage().removeprefix(f"[{prefix}] ")  # environments say it themselves, in their own logs
        return f"[{prefix}]{level} {message}"


def log_to_stderr() -> None:
    """To what stderr is now, also when another command of the same process had another one."""
    logger = logging.getLogger("mario")
    for each in [each for each in logger.handlers if isinstance(each, _Handler)]:
        logger.removeHandler(each)
    handler = _Handler()
    handler.setFormatter(PrefixFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


class _Handler(StreamHandler):
    """Ours, among those that others may have added."""


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Warnings alone, or everything."""
    if quiet or verbose:
        logging.getLogger("mario").setLevel(logging.WARNING if quiet else logging.DEBUG)
