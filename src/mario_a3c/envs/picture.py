"""The picture that an agent sees, made from a screen in colour: the slow way, for consoles that are not ours."""

import functools
import math

import numpy as np
import numpy.typing as npt

SIZE = 84


def shrink(screen: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """[H, W, 3] to grey [84, 84]: luma, then exact area averages, rounded half up; the console's own bytes."""
    red, green, blue = (screen[..., channel].astype(np.int32) for channel in range(3))
    grey = ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(
        np.float64
    )  # products of floats are fast, and exact
    rows, row_sum = _overlaps(screen.shape[0])
    columns, column_sum = _overlaps(screen.shape[1])
    area = row_sum * column_sum
    sums = (rows @ grey @ columns.T).astype(np.int64)
    shrunk: npt.NDArray[np.uint8] = ((sums + area // 2) // area).astype(np.uint8)
    return shrunk


@functools.cache
def _overlaps(length: int) -> tuple[npt.NDArray[np.float64], int]:
    """How much of each input pixel lies in each output pixel, in whole parts. [84, length], and the sum of a row."""
    per_output, per_input = length // math.gcd(length, SIZE), SIZE // math.gcd(length, SIZE)
    edges = np.arange(SIZE + 1)[:, None] * per_output
    starts = np.arange(length) * per_input
    shared = np.minimum(edges[1:], starts + per_input) - np.maximum(edges[:-1], starts)
    return np.maximum(shared, 0).astype(np.float64), per_output
