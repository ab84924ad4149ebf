"""A GPU takes seconds until it computes for the first time: a context, cuBLAS, cuDNN. They need no Python."""

import contextlib
import threading

import torch

from mario_a3c.models.execution import choose_device


def wake_device(name: str) -> threading.Thread | None:
    """Begins with it in a thread, in the time in which the rest of the program is imported."""
    device = choose_device(name)
    if device.type != "cuda":
        return None
    thread = threading.Thread(target=_compute_something, args=(device,), name="mario-wake", daemon=True)
    thread.start()
    return thread


def _compute_something(device: torch.device) -> None:
    with contextlib.suppress(RuntimeError):  # whoever computes in earnest will be told
        pixels = torch.ones(1, 1, 8, 8, device=device)
        torch.conv2d(pixels, pixels).flatten(1) @ torch.ones(1, 8, device=device)
