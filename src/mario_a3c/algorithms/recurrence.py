"""x[t] = terms[t] + factors[t] * x[t + 1], for all t at once."""

import torch
from torch import Tensor


def solve_backwards(factors: Tensor, terms: Tensor) -> Tensor:
    """[T, ...] -> [T, ...], with x[T] = 0. No gradient is meant to flow.

    Neighbours are joined, then pairs, then fours (Hillis and Steele 1986): log2(T) steps instead of T, which is what
    counts on a GPU, where every step is a launch.
    """
    length, distance = len(terms), 1
    while distance < length:
        joined = terms[:-distance] + factors[:-distance] * terms[distance:]
        factors = torch.cat([factors[:-distance] * factors[distance:], factors[-distance:]])
        terms = torch.cat([joined, terms[-distance:]])
        distance *= 2
    return terms
