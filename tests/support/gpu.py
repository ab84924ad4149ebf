"""Tests for machines with a CUDA device: `pytest -m gpu` runs them there, elsewhere they are skipped."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import torch

Test = TypeVar("Test", bound=Callable[..., Any])


def on_gpu(test: Test) -> Test:
    skipped = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    marked: Test = pytest.mark.gpu(skipped(test))
    return marked
