"""The real network with a backbone that sees little and costs little: what learns is under test, not what sees."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig, RecurrentType
from mario_a3c.models.execution import Execution
from mario_a3c.models.initialisation import orthogonal

CPU = Execution("cpu", "float32", "none", "tests")
_CELL = 12  # pixels


class CoarseBackbone(nn.Module):
    """Averages of squares of 12 x 12 pixels, and `fc`."""

    precision = torch.float32

    def __init__(self, frame_stack: int, hidden_size: int) -> None:
        super().__init__()
        self.fc = orthogonal(nn.Linear(frame_stack * (84 // _CELL) ** 2, hidden_size), gain=2**0.5)

    def forward(self, observations: Tensor) -> Tensor:
        cells = functional.avg_pool2d(observations.to(self.fc.weight.dtype) / 255.0, _CELL)
        return functional.relu(self.fc(cells.flatten(1))).float()


def make_network(
    num_actions: int,
    *,
    recurrent_type: RecurrentType = "none",
    frame_stack: int = 2,
    seed: int = 0,
    noisy_linear: bool = False,
    parameter_noise: float = 0.0,
    execution: Execution = CPU,
) -> MarioActorCritic:
    config = ModelConfig(
        backbone="nature",
        hidden_size=64,
        recurrent_type=recurrent_type,
        recurrent_hidden_size=32,
        transformer_layers=1,
        transformer_heads=2,
        memory_length=12,
        noisy_linear=noisy_linear,
        parameter_noise=parameter_noise,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = MarioActorCritic(config, num_actions, (frame_stack, 84, 84))
        model.backbone = CoarseBackbone(frame_stack, config.hidden_size)  # type: ignore[assignment]
    return execution.prepare(model)
