"""From features to the policy and the value, with noise where it is asked for.

The noise of an environment is a row of the state, drawn once per rollout: it travels with the rollout, so that the
learner computes with the very noise that acted, and it is zero, therefore off, in a state that nobody drew noise for.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.models.initialisation import orthogonal


class Head(nn.Linear):
    """A linear layer without noise, called like one with it."""

    noise_size = 0

    def forward(self, features: Tensor, noise: Tensor | None = None) -> Tensor:
        return functional.linear(features, self.weight, self.bias)


class NoisyLinear(nn.Module):
    """Factorised Gaussian noise (Fortunato et al. 2018), a row of its own for every environment.

    W + S * outer(e_out, e_in) applied to x is W x + e_out * (S (e_in * x)): another product, not another matrix per
    environment. With `sigma` learned this is NoisyNet; fixed, it is parameter-space noise (Plappert et al. 2018).
    """

    sigma_weight: Tensor
    sigma_bias: Tensor

    def __init__(self, in_features: int, out_features: int, *, gain: float, sigma: float, is_learned: bool) -> None:
        super().__init__()
        self.mean = orthogonal(nn.Linear(in_features, out_features), gain)
        self.noise_size = in_features + out_features
        scale = sigma / in_features**0.5
        weight, bias = torch.full((out_features, in_features), scale), torch.full((out_features,), scale)
        if is_learned:
            self.sigma_weight, self.sigma_bias = nn.Parameter(weight), nn.Parameter(bias)
        else:  # a setting, not something learned: not saved
            self.register_buffer("sigma_weight", weight, persistent=False)
            self.register_buffer("sigma_bias", bias, persistent=False)

    def forward(self, features: Tensor, noise: Tensor) -> Tensor:
        """[..., N, F], [N, noise_size] -> [..., N, out_features]."""
        noise_in, noise_out = noise.tensor_split([self.mean.in_features], dim=-1)
        mean: Tensor = self.mean(features)
        return mean + noise_out * functional.linear(noise_in * features, self.sigma_weight, self.sigma_bias)


def factorised(normal: Tensor) -> Tensor:
    """Standard normal numbers as factors of noise: sign(x) * sqrt(|x|)."""
    return normal.sign() * normal.abs().sqrt()
