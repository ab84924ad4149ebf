"""Random numbers that are looked up, not drawn: the same key and counter give the same number on every device, at every
batch size, inside a CUDA graph, and after a run was resumed.

This is SplitMix64 (Steele et al. 2014) with its state written as key + counter * gamma: whole-number arithmetic alone,
eleven small operations for any number of results.
"""

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # odd; torch has signed numbers only, which wrap around alike everywhere
_STREAM = 0xD1342543DE82EF95 - (1 << 64)
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))
_MANTISSA_BITS = 23


def make_keys(seed: int, purpose: str, streams: Tensor) -> Tensor:
    """One key for each stream (an environment, an episode) and purpose. int64 [...] -> int64 [...]"""
    start = int.from_bytes(purpose.encode()[:8].ljust(8, b"\0"), "little", signed=True)
    run = mix(torch.tensor(_wrap(seed * 2 + 1), dtype=torch.int64) + _wrap(start))
    return mix(run.to(streams.device) + streams.to(torch.int64) * _STREAM)


def rewound(keys: Tensor, counter: Tensor) -> Tensor:
    """Keys that give at `counter` what these give at 0, and so on from there."""
    return keys - counter * _GOLDEN


def random_bits(keys: Tensor, counters: Tensor | int) -> Tensor:
    """64 bits for each key and counter. int64 [...]"""
    offset = _wrap(counters * _GOLDEN) if isinstance(counters, int) else counters * _GOLDEN
    return mix(keys + offset)


def uniform(keys: Tensor, counters: Tensor | int) -> Tensor:
    """float32 in (0, 1), never 0 or 1: 2^23 values, each in the middle of its share."""
    top = (random_bits(keys, counters) >> (64 - _MANTISSA_BITS)) & ((1 << _MANTISSA_BITS) - 1)
    return (top.to(torch.float32) + 0.5) * (1.0 / (1 << _MANTISSA_BITS))


def normal(keys: Tensor, counters: Tensor | int) -> Tensor:
    """Standard normal float32 numbers."""
    numbers: Tensor = torch.special.ndtri(uniform(keys, counters))
    return numbers


def gumbel(keys: Tensor, counters: Tensor | int) -> Tensor:
    """Added to logits, they make the largest a draw from the policy."""
    return -torch.log(-torch.log(uniform(keys, counters)))


def permutation(size: int, seed: int, counter: int, device: torch.device) -> Tensor:
    """The numbers below `size` in an order of their own for each seed and counter. int64 [size]"""
    keys = make_keys(seed, "permute", torch.arange(size, device=device))
    return random_bits(keys, counter).argsort()


def mix(bits: Tensor) -> Tensor:
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        bits = (bits ^ _shift_right(bits, shift)) * multiplier
    return bits ^ _shift_right(bits, 31)


def _shift_right(bits: Tensor, count: int) -> Tensor:
    """torch keeps the sign when it shifts; a hash must not."""
    return (bits >> count) & ((1 << (64 - count)) - 1)


def _wrap(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
