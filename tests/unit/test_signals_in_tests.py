"""Tests that send signals do so wherever they were started from."""

import signal
import subprocess
import sys

from tests.support.signals import signals_heard

PROGRAM = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(0.01); print('was ignored')"


def interrupted() -> bool:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    return "KeyboardInterrupt" in done.stderr and not done.stdout


def test_a_child_hears_ctrl_c_where_the_shell_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert not interrupted()
        with signals_heard():
            assert interrupted()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
