"""Stacks are made of single frames and never reach into another episode."""

import numpy as np
import pytest
import torch

from mario_a3c.experience.frames import push_frame, stack_frames
from mario_a3c.experience.rollout import Rollout, RolloutBuffer, RolloutShape

T, N, S, H, W = 7, 3, 4, 5, 6  # axes; pixels that do not fill whole words


def random_frames(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    frames = torch.randint(0, 256, (T + S, N, H, W), dtype=torch.uint8, generator=generator)
    starts = torch.rand(T + 1, N, generator=generator) < 0.3
    return frames, starts


def stacks_one_by_one(frames: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """As an environment stacks them: the first frame of an episode fills the stack, later ones push."""
    stacks = torch.zeros(T + 1, N, S, H, W, dtype=torch.uint8)
    for n in range(N):
        window = [frames[k, n] for k in range(S)]
        for t in range(T + 1):
            newest = frames[t + S - 1, n]
            if t > 0:
                window = [*window[1:], newest]
            if starts[t, n]:
                window = [newest] * S
            stacks[t, n] = torch.stack(window)
    return stacks


@pytest.mark.parametrize("seed", range(5))
def test_stacks_are_those_of_an_environment_that_stacks_itself(seed: int) -> None:
    frames, starts = random_frames(seed)
    expected = stacks_one_by_one(frames, starts)
    assert torch.equal(stack_frames(frames, starts), expected)
    for step in range(T + 1):
        assert torch.equal(stack_frames(frames, starts, step), expected[step])


@pytest.mark.parametrize("seed", range(3))
def test_pushing_frame_by_frame_gives_the_same_stacks(seed: int) -> None:
    frames, starts = random_frames(seed)
    starts[0] = False
    stack = frames[:S].transpose(0, 1).clone()
    for t in range(1, T + 1):
        push_frame(stack, frames[t + S - 1], starts[t])
        assert torch.equal(stack, stack_frames(frames, starts, t))


def test_a_rollout_has_the_documented_shapes() -> None:
    rollout = Rollout.empty(RolloutShape(T, N, S, H, W), state={"hidden": torch.zeros(N, 8)})
    assert rollout.frames.shape == (T + S, N, H, W)
    assert rollout.frames.dtype == torch.uint8
    assert rollout.observations().shape == (T + 1, N, S, H, W)
    assert rollout.episode_starts.shape == (T + 1, N)
    for name in ("actions", "log_probs", "values", "rewards", "terminated", "truncated", "truncation_values"):
        assert getattr(rollout, name).shape == (T, N), name
    assert rollout.state["hidden"].shape == (N, 8)
    assert rollout.shape == RolloutShape(T, N, S, H, W)
    assert rollout.num_bytes() < 2 * rollout.frames.nbytes


def test_some_environments_of_a_rollout_are_the_same_steps() -> None:
    rollout = Rollout.empty(RolloutShape(T, N, S, H, W), state={"hidden": torch.zeros(N, 1)})
    rollout.state["hidden"].copy_(torch.arange(N)[:, None])
    frames, starts = random_frames()
    rollout.frames.copy_(frames)
    rollout.episode_starts.copy_(starts)
    rollout.rewards.copy_(torch.arange(T * N).view(T, N))
    chosen = rollout.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.observations(), rollout.observations()[:, [2, 0]])
    assert torch.equal(chosen.rewards, rollout.rewards[:, [2, 0]])
    assert chosen.state["hidden"].flatten().tolist() == [2, 0]


@pytest.mark.parametrize("first", [1, 3, 6])
def test_later_steps_of_a_rollout_see_what_they_saw(first: int) -> None:
    rollout = Rollout.empty(RolloutShape(T, N, S, H, W))
    frames, starts = random_frames(1)
    rollout.frames.copy_(frames)
    rollout.episode_starts.copy_(starts)
    later = rollout.steps_from(first, {})
    assert later.num_steps == T - first
    assert torch.equal(later.observations(), rollout.observations()[first:])


def test_a_full_slot_is_the_rollout_and_not_a_copy() -> None:
    buffer = RolloutBuffer(2, RolloutShape(T, N, S, H, W))
    slot = buffer[1]
    sealed = buffer.seal(1, weights_version=5, episodes=np.zeros(2))
    assert sealed.frames.data_ptr() == slot.frames.data_ptr()
    assert sealed.weights_version == 5
    assert buffer[1] is sealed
    assert buffer[0].weights_version == 0
    assert len(buffer) == 2
