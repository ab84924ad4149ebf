"""GRU and LSTM.

On a CPU an unroll cuts the rollout where episodes start and runs the pieces side by side, as rows of one packed batch,
through the library's own sequence kernel: no Python loop over T, however many episodes begin in it. On a GPU the inputs
of all steps are multiplied at once and the steps follow each other, with the state masked where an episode starts: the
same few kernels T times over (`unrolled_cells`), which can be recorded, and need not ask where the episodes start.
"""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from mario_a3c.models.memories import State, reset_where
from mario_a3c.models.unrolled_cells import UnrolledGru, UnrolledLstm

Layer = TypeVar("Layer", bound=nn.RNNBase)


class GruMemory(nn.Module):
    has_fixed_work = True

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.gru = initialised(nn.GRU(input_size, output_size))

    def initial_state(self, num_envs: int) -> State:
        return {"hidden": cell_weights(self.gru)[0].new_zeros(num_envs, self.output_size)}

    def step(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        hidden = torch.gru_cell(features, reset_where(episode_starts, state["hidden"]), *cell_weights(self.gru))
        return hidden, {"hidden": hidden}

    def unroll(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        if features.is_cuda:
            return self._unroll_by_steps(features, episode_starts, state["hidden"])
        pieces = cut_at_starts(episode_starts, features.device)
        output, hidden = self.gru(pieces.pack(features), pieces.first(state["hidden"])[None])
        return pieces.unpack(output), {"hidden": pieces.last(hidden[0])}

    def _unroll_by_steps(self, features: Tensor, episode_starts: Tensor, hidden: Tensor) -> tuple[Tensor, State]:
        of_inputs, *recurrent = cell_weights(self.gru)
        going_on = is_going_on(features, episode_starts)
        outputs: Tensor = UnrolledGru.apply(features @ of_inputs.T, going_on, hidden, *recurrent)  # type: ignore[no-untyped-call]
        return outputs, {"hidden": outputs[-1]}


class LstmMemory(nn.Module):
    has_fixed_work = True

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.lstm = initialised(nn.LSTM(input_size, output_size))

    def initial_state(self, num_envs: int) -> State:
        zeros = cell_weights(self.lstm)[0].new_zeros(num_envs, self.output_size)
        return {"hidden": zeros, "cell": zeros.clone()}

    def step(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        before = [reset_where(episode_starts, state[name]) for name in ("hidden", "cell")]
        hidden, cell = torch.lstm_cell(features, before, *cell_weights(self.lstm))
        return hidden, {"hidden": hidden, "cell": cell}

    def unroll(self, features: Tensor, episode_starts: Tensor, state: State) -> tuple[Tensor, State]:
        if features.is_cuda:
            return self._unroll_by_steps(features, episode_starts, state["hidden"], state["cell"])
        pieces = cut_at_starts(episode_starts, features.device)
        before = (pieces.first(state["hidden"])[None], pieces.first(state["cell"])[None])
        output, (hidden, cell) = self.lstm(pieces.pack(features), before)
        return pieces.unpack(output), {"hidden": pieces.last(hidden[0]), "cell": pieces.last(cell[0])}

    def _unroll_by_steps(
        self, features: Tensor, episode_starts: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, State]:
        of_inputs, *recurrent = cell_weights(self.lstm)
        going_on = is_going_on(features, episode_starts)
        outputs, cell = UnrolledLstm.apply(features @ of_inputs.T, going_on, hidden, cell, *recurrent)  # type: ignore[no-untyped-call]
        return outputs, {"hidden": outputs[-1], "cell": cell}


class Pieces(NamedTuple):
    """A rollout [T, N] cut at episode starts into S >= N pieces, the longest first.

    A packed batch holds step k of every piece that is longer than k, for k = 0, 1, ...: `order` says from which
    t * N + n each of its rows comes, `place` is the way back.
    """

    batch_sizes: Tensor  # [longest], on the CPU as PackedSequence wants it
    order: Tensor  # [T * N]
    place: Tensor  # [T * N]
    env: Tensor  # [S]
    is_new_episode: Tensor  # [S] bool: the state before it does not count
    last_piece: Tensor  # [N]: the piece that ends with the rollout

    def pack(self, features: Tensor) -> PackedSequence:
        return PackedSequence(features.flatten(0, 1).index_select(0, self.order), self.batch_sizes)

    def unpack(self, packed: PackedSequence) -> Tensor:
        rows = packed.data.index_select(0, self.place)
        return rows.view(-1, len(self.last_piece), rows.shape[-1])

    def first(self, state: Tensor) -> Tensor:
        """The state [N, H] before a rollout, as what every piece begins with [S, H]."""
        return reset_where(self.is_new_episode, state.index_select(0, self.env))

    def last(self, state: Tensor) -> Tensor:
        """The state [S, H] after every piece, as that of every environment after the rollout [N, H]."""
        return state.index_select(0, self.last_piece)


def cut_at_starts(episode_starts: Tensor, device: torch.device) -> Pieces:
    """Index arithmetic on the CPU."""
    starts = episode_starts.cpu()
    T, N = starts.shape  # noqa: N806 -- axes are capitals
    begins = starts.clone()
    begins[0] = True
    env, first_step = begins.T.nonzero().unbind(1)  # environment by environment, in the order of time
    ends = torch.cat([env * T + first_step, torch.tensor([N * T])])
    lengths, by_length = ends.diff().sort(descending=True, stable=True)
    env, first_step = env[by_length], first_step[by_length]

    k = torch.arange(int(lengths[0]))[:, None]
    is_inside = k < lengths  # [longest, S]
    order = ((first_step + k) * N + env)[is_inside]
    ends_rollout = first_step + lengths == T
    return Pieces(
        batch_sizes=is_inside.sum(1),
        order=order.to(device),
        place=torch.empty_like(order).scatter_(0, order, torch.arange(T * N)).to(device),
        env=env.to(device),
        is_new_episode=((first_step > 0) | starts[0, env]).to(device),
        last_piece=ends_rollout.nonzero()[:, 0][env[ends_rollout].argsort()].to(device),
    )


def is_going_on(features: Tensor, episode_starts: Tensor) -> Tensor:
    """[T, N, 1]: 0 where an episode starts, else 1."""
    return (~episode_starts).to(features)[..., None]


def cell_weights(layer: nn.RNNBase) -> list[Tensor]:
    return [getattr(layer, name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]


def initialised(layer: Layer) -> Layer:
    for name, parameter in layer.named_parameters():
        if "weight" in name:
            nn.init.orthogonal_(parameter)
        else:
            nn.init.zeros_(parameter)
    return layer
