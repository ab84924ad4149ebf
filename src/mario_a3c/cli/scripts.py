"""How a script ends: what is meant for people is said in a line, and the exit code is that of `mario`."""

import sys
from collections.abc import Callable

from mario_a3c.errors import ExitCode, MarioError


def run_script(name: str, main: Callable[[], int]) -> int:
    try:
        return main()
    except MarioError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
