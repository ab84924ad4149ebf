"""Text with colours, and bars within a line."""

import re

BLOCKS = "▁▂▃▄▅▆▇█"
_COLOURS = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def colour(text: str, name: str) -> str:
    return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if text else ""


def plain(text: str) -> str:
    """Without colours: as wide as it looks."""
    return _ANSI.sub("", text)


def block(share: float) -> str:
    """A bar of one character, for numbers from 0 to 1."""
    return BLOCKS[min(len(BLOCKS) - 1, max(0, round(share * (len(BLOCKS) - 1))))]
