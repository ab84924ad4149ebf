"""What replay hands out."""

from dataclasses import dataclass

from torch import Tensor

from mario_a3c.experience.rollout import Rollout


@dataclass(frozen=True, slots=True)
class ReplaySample:
    """B sequences of the past as a rollout of B environments, each with the memory it began with.

    The properties are the same sequences as most papers write them: single steps, [B * T, ...].
    """

    rollout: Rollout  # [T, B]
    weights: Tensor  # [B]: importance weights, the largest 1
    indices: Tensor  # [B]: where they are kept
    generations: Tensor  # [B]: which of the sequences that were kept there
    burn_in: int = 0  # steps that only bring the memory up to date

    @property
    def obs(self) -> Tensor:
        """[B * T, S, H, W] uint8."""
        return self.rollout.observations()[:-1].transpose(0, 1).flatten(0, 1)

    @property
    def action(self) -> Tensor:
        return self.rollout.actions.T.flatten()

    @property
    def target_value(self) -> Tensor:
        """What the value should have been when these steps were last learned from."""
        return self.rollout.target_values.T.flatten()

    @property
    def advantage(self) -> Tensor:
        return self.rollout.advantages.T.flatten()
