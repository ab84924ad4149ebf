"""From single frames to stacks, on the device where they lie."""

import torch
from torch import Tensor


def stack_frames(frames: Tensor, episode_starts: Tensor, step: int | None = None) -> Tensor:
    """[T + S, N, H, W] and [T + 1, N] -> [T + 1, N, S, H, W]; with a `step`, [N, S, H, W] of that one alone.

    The newest frame of observation t is t + S - 1. Frames before an episode's first are replaced by that first one,
    as environments stack them. Frames before observation 0 are taken as they are.
    """
    length, num_envs = episode_starts.shape
    frame_stack = len(frames) - length + 1
    device = frames.device
    steps = torch.arange(length, device=device)[:, None]
    began = torch.where(episode_starts, steps + frame_stack - 1, 0)
    first = began.cummax(0).values  # [T + 1, N]: the frame with which the episode begins, as far as it is here
    if step is not None:
        steps, first = steps[step : step + 1], first[step : step + 1]
    rows = torch.maximum(steps[:, :, None] + torch.arange(frame_stack, device=device), first[:, :, None])
    envs = torch.arange(num_envs, device=device)[:, None]
    stacks = from_words(as_words(frames)[rows, envs], frames)  # [T + 1, N, S, H, W]
    return stacks if step is None else stacks[0]


def push_frame(stack: Tensor, frame: Tensor, episode_starts: Tensor) -> None:
    """The observation [N, S, H, W] after one more frame [N, H, W], in place: what `stack_frames` makes, while it
    happens."""
    words, newest = as_words(stack), as_words(frame)[:, None]
    torch.where(episode_starts[:, None, None], newest, torch.cat([words[:, 1:], newest], dim=1), out=words)


def as_words(frames: Tensor) -> Tensor:
    """uint8 [..., H, W] as whole words [..., H * W / 8]: kernels that pick rows work element by element."""
    pixels = frames.flatten(-2)
    return pixels.view(torch.int64) if pixels.shape[-1] % 8 == 0 else pixels


def from_words(words: Tensor, like: Tensor) -> Tensor:
    """Back to uint8, with the height and width of `like`."""
    return words.view(torch.uint8).view(*words.shape[:-1], *like.shape[-2:])
