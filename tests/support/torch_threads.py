"""Networks under test are tiny: one thread is faster than the coordination of several."""

import contextlib
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """For every test of a folder whose conftest imports it."""
    with one_torch_thread():
        yield
