"""AdamW that leaves out steps which are not finite, without asking the CPU, and whose state has names.

The class `torch.optim.AdamW` is not used, only its function: making any `Optimizer` imports the compiler, which takes
seconds at every start.
"""

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from mario_a3c.stateful import State

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
_BETA1, _BETA2 = 0.9, 0.999


class GuardedAdamW:
    """The fused kernel checks a flag on the device: a GPU is never waited for."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float, epsilon: float, clip_grad: float) -> None:
        self._named = dict(model.named_parameters())
        self._weight_decay, self._epsilon = weight_decay, epsilon
        self._clip_grad = clip_grad or float("inf")
        self._lr = torch.tensor(lr, device=next(model.parameters()).device)  # there, where a recorded step reads it
        self._moments = {name: _no_moments(each) for name, each in self._named.items()}
        self.param_groups = [{"params": list(self._named.values())}]
        """What `GradScaler` asks an optimizer for."""

    def set_lr(self, lr: float) -> None:
        self._lr.fill_(lr)

    def step(self, loss: Tensor, scaler: torch.amp.GradScaler) -> tuple[Tensor, Tensor]:
        """Applies the gradients if they and `loss` are finite: [] the norm before clipping, [] 1 where it did not."""
        scaler.unscale_(self)  # type: ignore[arg-type]
        norm = nn.utils.clip_grad_norm_(self._named.values(), self._clip_grad)
        is_skipped = (~(torch.isfinite(norm) & torch.isfinite(loss))).float()
        self._apply(is_skipped)
        scaler.update()
        self.forget_gradients()
        return norm, is_skipped

    def forget_gradients(self) -> None:
        for parameter in self._named.values():
            parameter.grad = None

    def state(self) -> State:
        return {
            moment: {name: moments[moment].clone() for name, moments in self._moments.items()} for moment in _MOMENTS
        }

    def restore(self, state: State) -> None:
        """In place, where recorded steps read it. A run that had made no step when it was saved has no moments."""
        for name, moments in self._moments.items():
            for moment, tensor in moments.items():
                if name in state[moment]:
                    tensor.copy_(state[moment][name])
                else:
                    tensor.zero_()

    @torch.no_grad()
    def _apply(self, is_skipped: Tensor) -> None:
        learned = [(each, self._moments[name]) for name, each in self._named.items() if each.grad is not None]
        adamw(
            [each for each, _ in learned],
            [each.grad for each, _ in learned if each.grad is not None],
            [moments["exp_avg"] for _, moments in learned],
            [moments["exp_avg_sq"] for _, moments in learned],
            [],
            [moments["step"] for _, moments in learned],
            fused=True,
            capturable=self._lr.is_cuda,
            found_inf=is_skipped,
            amsgrad=False,
            beta1=_BETA1,
            beta2=_BETA2,
            lr=self._lr,
            weight_decay=self._weight_decay,
            eps=self._epsilon,
            maximize=False,
        )


def _no_moments(parameter: Tensor) -> dict[str, Tensor]:
    """Laid out like the parameter: the fused kernel walks through memory, not through indices."""
    return {
        "step": torch.zeros((), device=parameter.device),
        "exp_avg": torch.zeros_like(parameter, dtype=torch.float32),
        "exp_avg_sq": torch.zeros_like(parameter, dtype=torch.float32),
    }
