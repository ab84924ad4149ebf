"""Teach an agent to clear Super Mario Bros. from pixels, fast enough to watch it happen."""

__version__ = "0.1.0"
