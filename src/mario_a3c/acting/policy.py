"""How one decision is made."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.memories import State
from mario_a3c.random_numbers import gumbel

Choice = Literal["sampled", "greedy"]
NOT_SCRIPTED = -1


class Decision(NamedTuple):
    """Of N environments."""

    actions: Tensor  # [N] int64
    log_probs: Tensor  # [N]: of those actions, under what chose them
    values: Tensor  # [N]
    state: State  # the memory after it
    log_policy: Tensor  # [N, A]: of all actions, before anything was chosen


def decide(
    model: MarioActorCritic,
    observations: Tensor,
    episode_starts: Tensor,
    state: State,
    keys: Tensor,
    counter: Tensor,
    scripted: Tensor,
    choice: Choice = "sampled",
) -> Decision:
    """uint8 [N, C, H, W], bool [N], the state before -> actions.

    A sampled action is the largest of logits + Gumbel noise, which is a draw from the policy; the noise is looked up by
    key [N] and counter [1], so it does not depend on who else is in the batch. Where `scripted` [N] is an action and
    not NOT_SCRIPTED, that action is taken, and as nothing else could have been, its log-probability is 0.
    """
    output = model.step(observations, episode_starts, state)
    log_policy = output.logits.log_softmax(-1)
    actions = log_policy.argmax(-1) if choice == "greedy" else sample(log_policy, keys, counter)
    log_probs = log_policy.gather(-1, actions[:, None])[:, 0]
    is_scripted = scripted != NOT_SCRIPTED
    return Decision(
        actions=torch.where(is_scripted, scripted, actions),
        log_probs=log_probs.masked_fill(is_scripted | (choice == "greedy"), 0.0),
        values=output.value,
        state=output.state,
        log_policy=log_policy,
    )


def sample(log_policy: Tensor, keys: Tensor, counter: Tensor) -> Tensor:
    """[N, A], [N], [1] -> [N]: one action each."""
    num_actions = log_policy.shape[-1]
    counters = counter * num_actions + torch.arange(num_actions, device=log_policy.device)
    return (log_policy + gumbel(keys[:, None], counters)).argmax(-1)
