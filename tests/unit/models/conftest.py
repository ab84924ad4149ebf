"""Networks under test are tiny: one thread is faster than the coordination of several."""

import pytest


@pytest.fixture(autouse=True)
def _small(one_thread: None) -> None:
    """Every test here."""
