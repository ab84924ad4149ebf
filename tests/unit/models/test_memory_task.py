"""A task of known answer: a cue is seen once, and what it was is asked for twenty steps later."""

import typing

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig, RecurrentType

NUM_CUES, DELAY, NUM_EPISODES = 4, 20, 2
EPISODE = DELAY + 1
SHAPE = (1, 36, 36)


def make_rollout(num_envs: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Pictures and starts [T, N] of two episodes one after the other, and their cues [2, N].

    A cue is a bright quarter of the first picture; all others are grey noise. The second episode's cue is no help for
    the first and the other way round: a memory that is not reset, or that peeks, is wrong.
    """
    cues = torch.randint(NUM_CUES, (NUM_EPISODES, num_envs), generator=generator)
    pictures = torch.randint(0, 64, (NUM_EPISODES * EPISODE, num_envs, *SHAPE), dtype=torch.uint8, generator=generator)
    starts = torch.zeros(NUM_EPISODES * EPISODE, num_envs, dtype=torch.bool)
    half = SHAPE[1] // 2
    for episode in range(NUM_EPISODES):
        starts[episode * EPISODE] = True
        for env, cue in enumerate(cues[episode].tolist()):
            top, left = half * (cue // 2), half * (cue % 2)
            pictures[episode * EPISODE, env, :, top : top + half, left : left + half] = 255
    return pictures, starts, cues


def learn(model: MarioActorCritic, num_updates: int, generator: torch.Generator) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(num_updates):
        pictures, starts, cues = make_rollout(16, generator)
        logits = model.unroll(pictures, starts, model.initial_state(16)).logits
        wanted = cues.repeat_interleave(EPISODE, dim=0)  # at every step, so that a long memory grows out of a short one
        loss = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if loss < 0.02:
            return


def share_right(model: MarioActorCritic, generator: torch.Generator) -> float:
    """Acting step by step, as an agent does."""
    pictures, starts, cues = make_rollout(64, generator)
    state, answers = model.initial_state(64), []
    with torch.no_grad():
        for step_pictures, step_starts in zip(pictures, starts, strict=True):
            output = model.step(step_pictures, step_starts, state)
            state = output.state
            answers.append(output.logits.argmax(-1))
    return float((torch.stack(answers[EPISODE - 1 :: EPISODE]) == cues).float().mean())


@pytest.mark.slow
@pytest.mark.parametrize("recurrent_type", typing.get_args(RecurrentType))
def test_a_cue_is_remembered_for_twenty_steps_by_every_memory_and_not_without_one(
    recurrent_type: RecurrentType,
) -> None:
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(4)
    config = ModelConfig(
        backbone="nature",
        hidden_size=32,
        recurrent_type=recurrent_type,
        recurrent_hidden_size=32,
        transformer_layers=1,
        memory_length=24,
    )
    model = MarioActorCritic(config, NUM_CUES, SHAPE)
    learn(model, 100 if recurrent_type == "none" else 600, generator)
    right = share_right(model, generator)
    if recurrent_type == "none":
        assert right < 0.5, "one in four is chance"
    else:
        assert right > 0.95
