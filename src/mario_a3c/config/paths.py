"""Paths as users write them, on the command line and in JSON files."""

from pathlib import Path


def parse_path(text: str) -> Path:
    """Raises ValueError on what no file can be called; `~` is the user's home.

    An empty text would mean the current folder, which nobody means: it is what a shell makes of an unset variable.
    """
    if not text:
        raise ValueError("a path must not be empty")
    if "\0" in text or any("\ud800" <= character <= "\udbff" for character in text):
        raise ValueError(f"not a path: {text!r}")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{text!r}: {error}") from error
