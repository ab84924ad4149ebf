"""Memory that tensors have left is kept for the next ones."""

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys
import numpy as np
from mario_a3c.native.host_memory import keep_freed_memory

def faults_of_new_arrays():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.empty(8 << 20, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults_of_new_arrays()
assert keep_freed_memory()
np.empty(8 << 20, np.uint8).fill(1)
print(before, faults_of_new_arrays())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc")
def test_memory_that_is_used_again_costs_no_page_faults() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT_FAULTS], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before > 1000
    assert after < before / 50
