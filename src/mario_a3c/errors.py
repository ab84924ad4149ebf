"""Every way this program fails on purpose, and the exit code a script sees.

A message says what was expected, what came, and what to do about it. The command line prints it without a
traceback; anything that is not a `MarioError` is a defect and keeps its traceback.
"""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    DONE = 0
    USAGE = 2
    ENVIRONMENT = 3
    CHECKPOINT = 4
    NUMERICS = 5
    STORAGE = 6
    STOPPED = 75  # by a signal or a budget, with a snapshot: a supervisor may restart (sysexits.h, EX_TEMPFAIL)
    INTERRUPTED = 130  # by Ctrl-C where there is nothing to save, or a second time while saving


class MarioError(Exception):
    """Base of all errors whose message is meant for the user."""

    exit_code: ClassVar[ExitCode] = ExitCode.ENVIRONMENT


class ConfigError(MarioError, ValueError):
    """A flag or a key of a config file has a value that cannot be used."""

    exit_code = ExitCode.USAGE


class SetupError(MarioError):
    """This machine lacks something: a device, a package, a compiler."""


class NativeLibraryError(SetupError):
    """The console's library is missing, stale, or not ours."""


class EngineError(SetupError):
    """No compiled engine can be had for a cartridge; the interpreter can still run it."""


class RomError(SetupError):
    """The game's ROM is missing, damaged, or another game."""


class SaveStateError(SetupError):
    """A console's save-state is damaged, or belongs to another ROM or version."""


class CheckpointError(MarioError):
    """A checkpoint was asked for and none can be used."""

    exit_code = ExitCode.CHECKPOINT


class NumericsError(MarioError):
    """Training produced values that are not finite and could not recover."""

    exit_code = ExitCode.NUMERICS


class StorageError(MarioError):
    """A file or folder cannot be written or read."""

    exit_code = ExitCode.STORAGE


def first_line(error: BaseException) -> str:
    """What it says, for a line of a log: torch's errors go on for pages."""
    return next(iter(str(error).splitlines()), type(error).__name__)
