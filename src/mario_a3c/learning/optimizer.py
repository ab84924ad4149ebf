"""AdamW that leaves out steps which are not finite, without asking the CPU, and whose state has names."""

from typing import Any

import torch
from torch import Tensor, nn

from mario_a3c.stateful import State

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class GuardedAdamW:
    """The fused kernel checks a flag on the device: a GPU is never waited for."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float, epsilon: float, clip_grad: float) -> None:
        self._named = dict(model.named_parameters())
        self._clip_grad = clip_grad or float("inf")
        self._lr = torch.tensor(lr, device=next(model.parameters()).device)  # there, where a recorded step reads it
        self._adamw = torch.optim.AdamW(
            self._named.values(),
            lr=self._lr,
            weight_decay=weight_decay,
            eps=epsilon,
            fused=True,
            capturable=self._lr.is_cuda,
        )

    def set_lr(self, lr: float) -> None:
        self._lr.fill_(lr)

    def step(self, loss: Tensor, scaler: torch.amp.GradScaler) -> tuple[Tensor, Tensor]:
        """Applies the gradients if they and `loss` are finite: [] the norm before clipping, [] 1 where it did not."""
        scaler.unscale_(self._adamw)
        norm = nn.utils.clip_grad_norm_(self._named.values(), self._clip_grad)
        is_skipped = (~(torch.isfinite(norm) & torch.isfinite(loss))).float()
        optimizer: Any = self._adamw
        optimizer.grad_scale, optimizer.found_inf = None, is_skipped
        self._adamw.step()
        scaler.update()
        self.forget_gradients()
        return norm, is_skipped

    def forget_gradients(self) -> None:
        self._adamw.zero_grad(set_to_none=True)

    def state(self) -> State:
        moments = self._adamw.state
        return {
            moment: {name: moments[each][moment].clone() for name, each in self._named.items() if each in moments}
            for moment in _MOMENTS
        }

    def restore(self, state: State) -> None:
        self._adamw.state.clear()
        for name, parameter in self._named.items():
            if name in state["step"]:
                self._adamw.state[parameter] = {
                    moment: _laid_out_like(parameter, state[moment][name]) for moment in _MOMENTS
                }


def _laid_out_like(parameter: Tensor, saved: Tensor) -> Tensor:
    """A copy in float32. The fused kernel walks through memory, not through indices: layouts must agree."""
    if saved.shape != parameter.shape:
        return saved.to(parameter.device, torch.float32, copy=True)  # the count of steps
    return torch.empty_like(parameter, dtype=torch.float32).copy_(saved)
