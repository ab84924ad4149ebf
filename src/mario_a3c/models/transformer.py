"""Attention as memory: a causal transformer and its gated form, GTrXL (Parisotto et al. 2020).

A step sees itself and the `memory_length` steps before it, as far as they belong to its episode. What is kept of a
step is its key and value in every layer, so a decision costs the same in the first minute of an episode and in the
tenth. An unroll is the same computation for T steps at once: `step` is an unroll of length one.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.models.memories import State

_FEED_FORWARD_FACTOR = 4
_GATE_BIAS = 2.0  # gates begin nearly closed: a new GTrXL is close to the identity, and learns from the first update


class PositionalEncoding(nn.Module):
    """Sines and cosines of whole numbers (Vaswani et al. 2017), of any size: nothing is tabulated."""

    frequencies: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        frequencies = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """[...] -> [..., size]."""
        angles = positions.unsqueeze(-1) * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class View(NamedTuple):
    """Who sees whom: queries are the T steps of an unroll, keys the M steps before it and then the T steps."""

    is_visible: Tensor  # [N, 1, T, M + T]
    distance_encoding: Tensor | None  # [T, M + T, D]: how far back a key lies; only for relative positions


class TransformerMemory(nn.Module):
    """`transformer`: the step's number in its episode is added to its features. `gtrxl` has gates instead of sums and
    addresses keys by their distance.
    """

    has_fixed_work = True

    def __init__(
        self, input_size: int, output_size: int, *, num_layers: int, num_heads: int, memory_length: int, is_gated: bool
    ) -> None:
        super().__init__()
        self.output_size, self.memory_length, self.is_gated = output_size, memory_length, is_gated
        self.project = nn.Linear(input_size, output_size)
        self.encoding = PositionalEncoding(output_size)
        self.layers = nn.ModuleList(Layer(output_size, num_heads, is_gated) for _ in range(num_layers))
        self.norm = nn.LayerNorm(output_size)

    def initial_state(self, num_envs: int) -> State:
        def zeros() -> Tensor:
            return self.norm.weight.new_zeros(num_envs, self.memory_length, self.output_size)

        caches = {f"{kind}_{i}": zeros() for i in range(len(self.layers)) for kind in ("keys", "values")}
        return {**caches, "position": torch.zeros(num_envs, dtype=torch.int64, device=self.norm.weight.device)}

    def step(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        output, state = self.unroll(features[None], episode_starts[None], state)
        return output[0], state

    def unroll(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        positions = steps_into_episode(episode_starts, state["position"])  # [T, N]
        x: Tensor = self.project(features)
        if not self.is_gated:
            x = x + self.encoding(positions)
        x, view = x.transpose(0, 1), self._view(positions)  # environments first: [N, T, D]
        after = {"position": positions[-1] + 1}
        for i, layer in enumerate(self.layers):
            x, keys, values = layer(x, state[f"keys_{i}"], state[f"values_{i}"], view)
            after[f"keys_{i}"] = keys[:, -self.memory_length :].contiguous()
            after[f"values_{i}"] = values[:, -self.memory_length :].contiguous()
        output: Tensor = self.norm(x)
        return output.transpose(0, 1), after

    def _view(self, positions: Tensor) -> View:
        length = len(positions)
        query_times = torch.arange(length, device=positions.device)
        key_times = torch.arange(-self.memory_length, length, device=positions.device)
        distances = query_times[:, None] - key_times  # [T, M + T]
        # A step that is the p-th of its episode has p steps of it behind itself; this is where resets happen.
        farthest = positions.T.clamp(max=self.memory_length)[:, None, :, None]  # [N, 1, T, 1]
        is_visible = (distances >= 0) & (distances <= farthest)
        return View(is_visible, self.encoding(distances) if self.is_gated else None)


class Layer(nn.Module):
    """Attention, then a feed-forward net, each behind a LayerNorm and joined to its input by a sum or a gate."""

    def __init__(self, size: int, num_heads: int, is_gated: bool) -> None:
        super().__init__()
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, num_heads, is_relative=is_gated)
        self.feed_forward = nn.Sequential(
            nn.Linear(size, _FEED_FORWARD_FACTOR * size), nn.ReLU(), nn.Linear(_FEED_FORWARD_FACTOR * size, size)
        )
        self.attention_join, self.feed_forward_join = (Gate(size) if is_gated else Sum() for _ in range(2))

    def forward(self, x: Tensor, old_keys: Tensor, old_values: Tensor, view: View) -> tuple[Tensor, Tensor, Tensor]:
        seen, keys, values = self.attention(self.attention_norm(x), old_keys, old_values, view)
        x = self.attention_join(x, seen)
        x = self.feed_forward_join(x, self.feed_forward(self.feed_forward_norm(x)))
        return x, keys, values


class Attention(nn.Module):
    """Softmax attention over kept and new keys; with relative positions as in Transformer-XL (Dai et al. 2019)."""

    def __init__(self, size: int, num_heads: int, is_relative: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.queries_keys_values = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        if is_relative:
            self.distance = nn.Linear(size, size, bias=False)
            self.content_bias = nn.Parameter(torch.zeros(size))
            self.distance_bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor, old_keys: Tensor, old_values: Tensor, view: View) -> tuple[Tensor, Tensor, Tensor]:
        """[N, T, D] with [N, M, D] of before -> what was seen [N, T, D], keys and values [N, M + T, D]."""
        queries, new_keys, new_values = self.queries_keys_values(x).chunk(3, dim=-1)
        keys, values = torch.cat([old_keys, new_keys], dim=1), torch.cat([old_values, new_values], dim=1)
        scores = self._scores(queries, keys, view.distance_encoding)
        weights = scores.masked_fill(~view.is_visible, -torch.inf).softmax(dim=-1)
        seen = torch.einsum("nhtk,nkhd->nthd", weights, self._heads(values)).flatten(2)
        return self.output(seen), keys, values

    def _scores(self, queries: Tensor, keys: Tensor, distance_encoding: Tensor | None) -> Tensor:
        scale = math.sqrt(self.num_heads / queries.shape[-1])
        content = queries if distance_encoding is None else queries + self.content_bias
        scores: Tensor = torch.einsum("nthd,nkhd->nhtk", self._heads(content), self._heads(keys))
        if distance_encoding is not None:
            distances = self._heads(self.distance(distance_encoding))  # [T, M + T, heads, d]
            scores = scores + torch.einsum("nthd,tkhd->nhtk", self._heads(queries + self.distance_bias), distances)
        return scores * scale

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.num_heads, -1)


class Sum(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


class Gate(nn.Module):
    """The gated join of GTrXL: a GRU cell whose state is the stream and whose input is what the layer has to say."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.from_y = nn.Linear(size, 3 * size, bias=False)
        self.from_x = nn.Linear(size, 2 * size, bias=False)
        self.from_reset_x = nn.Linear(size, size, bias=False)
        self.bias = nn.Parameter(torch.full((size,), _GATE_BIAS))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        reset_y, update_y, candidate_y = self.from_y(functional.relu(y)).chunk(3, dim=-1)
        reset_x, update_x = self.from_x(x).chunk(2, dim=-1)
        reset, update = torch.sigmoid(reset_y + reset_x), torch.sigmoid(update_y + update_x - self.bias)
        candidate = torch.tanh(candidate_y + self.from_reset_x(reset * x))
        return (1 - update) * x + update * candidate


def steps_into_episode(episode_starts: Tensor, position: Tensor) -> Tensor:
    """How many steps of its episode lie before each step: [T, N] from starts [T, N] and the count before them [N]."""
    times = torch.arange(len(episode_starts), device=position.device)[:, None]
    began = torch.where(
        episode_starts.to(position.device), times, -position
    )  # when the episode began, or at the latest did
    return times - began.cummax(dim=0).values
