"""A GPU is woken while the rest is imported; without one nothing happens."""

import torch

from mario_a3c.models.wake import wake_device
from tests.support.gpu import on_gpu


def test_without_a_gpu_there_is_nothing_to_wake() -> None:
    assert wake_device("cpu") is None


@on_gpu
def test_a_gpu_has_computed_when_the_thread_is_done() -> None:
    thread = wake_device("best")
    assert thread is not None
    thread.join(60)
    assert torch.cuda.memory_reserved() > 0
