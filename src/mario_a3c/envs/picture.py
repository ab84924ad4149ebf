"""The picture that an agent sees, made from a screen in colour: the slow way, for consoles that are not ours."""

import functools
import math

import numpy as np
import numpy.typing as npt

SIZE = 84
_NUM_BUTTONS, _BUTTON_SIZE = 8, 8


def shrink(screen: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """[H, W, 3] to grey [84, 84]: luma, then exact area averages, rounded half up; the console's own bytes."""
    red, green, blue = (screen[..., channel].astype(np.int32) for channel in range(3))
    grey = (77 * red + 150 * green + 29 * blue + 128) >> 8
    rows, row_sum = _sum_areas(grey)
    sums, column_sum = _sum_areas(np.ascontiguousarray(rows.T))
    area = row_sum * column_sum
    shrunk: npt.NDArray[np.uint8] = ((sums.T + area // 2) // area).astype(np.uint8)
    return shrunk


def draw_buttons(picture: npt.NDArray[np.uint8], held: int) -> None:
    """At the top left a square for each button, in the order of the bits: white where it is down, black where not."""
    for button in range(_NUM_BUTTONS):
        columns = slice(button * _BUTTON_SIZE, (button + 1) * _BUTTON_SIZE)
        picture[:_BUTTON_SIZE, columns] = 255 if held >> button & 1 else 0


def _sum_areas(lines: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], int]:
    """[L, W] to [84, W]: each of 84 equal parts of the L lines, in whole parts of lines; and how many parts that is."""
    indices, weights, num_parts = _overlaps(len(lines))
    sums = np.zeros((SIZE, lines.shape[1]), np.int32)
    for index, weight in zip(indices, weights, strict=True):
        sums += lines[index] * weight[:, None]
    return sums, num_parts


@functools.cache
def _overlaps(length: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]:
    """Which lines lie in each of the 84 parts, and with how much of each: indices and weights [K, 84]."""
    num_parts, per_line = length // math.gcd(length, SIZE), SIZE // math.gcd(length, SIZE)
    first = np.arange(SIZE) * num_parts
    most = -(-num_parts // per_line) + 1
    indices = first // per_line + np.arange(most)[:, None]
    starts = indices * per_line
    shared = np.minimum(first + num_parts, starts + per_line) - np.maximum(first, starts)
    return np.minimum(indices, length - 1), np.maximum(shared, 0).astype(np.int32), num_parts
