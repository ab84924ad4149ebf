"""The network: observations and memory in, policy and value out."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from mario_a3c.models.backbones import Backbone
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.heads import Head, NoisyLinear, factorised
from mario_a3c.models.initialisation import orthogonal
from mario_a3c.models.memories import Memory, NoMemory, State
from mario_a3c.models.ram_backbone import RamBackbone
from mario_a3c.models.recurrent import GruMemory, LstmMemory
from mario_a3c.models.transformer import TransformerMemory

_POLICY_GAIN, _VALUE_GAIN = 0.01, 1.0
_LEARNED_SIGMA = 0.5  # Fortunato et al. 2018, for factorised noise


class ModelOutput(NamedTuple):
    """[N, ...] of one step, or [T, N, ...] of an unroll; the state is the one after the last step, [N, ...]."""

    logits: Tensor  # [..., num_actions]
    value: Tensor  # [...]
    state: State
    features: Tensor  # [..., F]: what the heads see

    @property
    def hidden(self) -> Tensor | None:
        """[N, H] of a GRU or LSTM."""
        return self.state.get("hidden")

    @property
    def cell(self) -> Tensor | None:
        """[N, H] of an LSTM."""
        return self.state.get("cell")


class MarioActorCritic(nn.Module):
    """Backbone, memory, actor and critic. The backbone may run in half precision; the rest is float32 always.

    Acting step by step and unrolling the same steps give the same numbers. `episode_starts` marks the steps that are
    the first of their episode: what was before is forgotten there.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_actions: int,
        observation_shape: tuple[int, int, int] = (4, 84, 84),
        *,
        picture_rows: int | None = None,
    ) -> None:
        """`picture_rows` of an observation are its picture, where there is more beneath it (`--observe both`)."""
        super().__init__()
        self.config, self.num_actions, self.observation_shape = config, num_actions, observation_shape
        self.backbone = make_backbone(config, observation_shape, picture_rows)
        self.memory = make_memory(config)
        self.actor = make_head(self.memory.output_size, num_actions, _POLICY_GAIN, config, config.parameter_noise)
        self.critic = make_head(self.memory.output_size, 1, _VALUE_GAIN, config, parameter_noise=0.0)
        self.noise_size = self.actor.noise_size + self.critic.noise_size

    def initial_state(self, num_envs: int) -> State:
        """The state before anything was seen, with the noise off."""
        state = self.memory.initial_state(num_envs)
        if self.noise_size:
            state["noise"] = next(self.actor.parameters()).new_zeros(num_envs, self.noise_size)
        return state

    def with_noise(self, state: State, normal: Tensor) -> State:
        """The state with new noise for every environment, from standard normal numbers [N, noise_size]."""
        return {**state, "noise": factorised(normal)} if self.noise_size else state

    def step(self, observations: Tensor, episode_starts: Tensor, state: State) -> ModelOutput:
        """One decision: uint8 [N, C, H, W], bool [N]."""
        features, memory_state = self.memory.step(self.backbone(observations), episode_starts, state)
        return self._decide(features, state, memory_state)

    def unroll(self, observations: Tensor, episode_starts: Tensor, state: State) -> ModelOutput:
        """A rollout: uint8 [T, N, C, H, W], bool [T, N], and the state before its first step."""
        seen = self.backbone(observations.flatten(0, 1)).unflatten(0, observations.shape[:2])
        features, memory_state = self.memory.unroll(seen, episode_starts, state)
        return self._decide(features, state, memory_state)

    def forward(
        self, observations: Tensor, episode_starts: Tensor | None = None, state: State | None = None
    ) -> ModelOutput:
        """`step` for [N, C, H, W], `unroll` for [T, N, C, H, W]; by default one episode from its beginning."""
        is_rollout = observations.dim() == 5
        if state is None:
            state = self.initial_state(observations.shape[1 if is_rollout else 0])
        if episode_starts is None:
            episode_starts = observations.new_zeros(observations.shape[:-3], dtype=torch.bool)
        return (self.unroll if is_rollout else self.step)(observations, episode_starts, state)

    def _decide(self, features: Tensor, before: State, memory_state: State) -> ModelOutput:
        actor_noise, critic_noise, kept = None, None, {}
        if self.noise_size:
            kept = {"noise": before["noise"]}
            actor_noise, critic_noise = before["noise"].tensor_split([self.actor.noise_size], dim=-1)
        logits: Tensor = self.actor(features, actor_noise)
        value: Tensor = self.critic(features, critic_noise).squeeze(-1)
        return ModelOutput(logits, value, {**memory_state, **kept}, features)


def make_backbone(
    config: ModelConfig, observation_shape: tuple[int, int, int], picture_rows: int | None
) -> Backbone | RamBackbone:
    channels, height, width = observation_shape
    if config.backbone == "ram":
        return RamBackbone(config.hidden_size, width)
    return Backbone(config, (channels, picture_rows or height, width))


def make_memory(config: ModelConfig) -> Memory:
    sizes = (config.hidden_size, config.recurrent_hidden_size)
    if config.recurrent_type == "gru":
        return GruMemory(*sizes)
    if config.recurrent_type == "lstm":
        return LstmMemory(*sizes)
    if config.recurrent_type in ("transformer", "gtrxl"):
        return TransformerMemory(
            *sizes,
            num_layers=config.transformer_layers,
            num_heads=config.transformer_heads,
            memory_length=config.memory_length,
            is_gated=config.recurrent_type == "gtrxl",
        )
    return NoMemory(config.hidden_size)


def make_head(
    num_features: int, num_outputs: int, gain: float, config: ModelConfig, parameter_noise: float
) -> Head | NoisyLinear:
    if config.noisy_linear:
        return NoisyLinear(num_features, num_outputs, gain=gain, sigma=_LEARNED_SIGMA, is_learned=True)
    if parameter_noise:
        return NoisyLinear(num_features, num_outputs, gain=gain, sigma=parameter_noise, is_learned=False)
    return orthogonal(Head(num_features, num_outputs), gain)
