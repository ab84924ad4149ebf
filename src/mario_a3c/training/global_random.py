"""The random generators that belong to nobody. Nothing of ours draws from them, which libraries may."""

import random

import numpy as np
import torch

from mario_a3c.stateful import State


class GlobalRandom:
    """Of Python, NumPy and torch, on the CPU and on every GPU that is in use. A `Stateful`."""

    def state(self) -> State:
        version, words, spare = random.getstate()
        name, keys, position, has_gauss, gauss = np.random.get_state()
        devices = torch.cuda.get_rng_state_all() if _is_gpu_in_use() else []
        return {
            "python": {"version": version, "words": np.array(words, np.uint64), "spare": spare},
            "numpy": {"name": name, "keys": keys, "position": position, "has_gauss": bool(has_gauss), "gauss": gauss},
            "torch": torch.get_rng_state(),
            "cuda": {str(index): state for index, state in enumerate(devices)},
        }

    def restore(self, state: State) -> None:
        """Nothing for a checkpoint from before they were saved. Of GPUs, those that are here and were there."""
        if not state:
            return
        saved = state["python"]
        random.setstate((saved["version"], tuple(int(word) for word in saved["words"]), saved["spare"]))
        saved = state["numpy"]
        np.random.set_state((saved["name"], saved["keys"], saved["position"], int(saved["has_gauss"]), saved["gauss"]))
        torch.set_rng_state(state["torch"])
        for index, device_state in state["cuda"].items():
            if _is_gpu_in_use() and int(index) < torch.cuda.device_count():
                torch.cuda.set_rng_state(device_state, int(index))


def seed_global_generators(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch.manual_seed(seed)


def _is_gpu_in_use() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
