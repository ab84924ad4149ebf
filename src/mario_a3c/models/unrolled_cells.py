"""GRU and LSTM over all steps of a rollout as one function with a backward of its own.

Only what depends on the step before it is done step by step: there and back one product and a few pointwise kernels.
The gradient of the recurrent weights is one product over all T * N rows, those of the biases one sum; autograd would
make T of each, and add them up. Nothing here asks the GPU for an answer, so it can be recorded as a graph.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class UnrolledGru(Function):
    """gates [T, N, 3H] of the inputs, going_on [T, N, 1], hidden [N, H] before -> hidden [T, N, H] after every step."""

    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        going_on: Tensor,
        hidden: Tensor,
        of_hidden: Tensor,
        input_bias: Tensor,
        hidden_bias: Tensor,
    ) -> Tensor:
        # What each step begins with, reset where an episode starts.
        before = hidden.new_empty(len(gates), *hidden.shape)
        recurrent = torch.empty_like(gates[0])
        outputs, workspaces = [], []
        for t in range(len(gates)):
            torch.mul(hidden, going_on[t], out=before[t])
            torch.mm(before[t], of_hidden.T, out=recurrent)
            hidden, workspace = gru_cell(gates[t], recurrent, before[t], input_bias, hidden_bias)
            outputs.append(hidden)
            workspaces.append(workspace)
        ctx.save_for_backward(going_on, of_hidden, before, *workspaces)
        return torch.stack(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        going_on, of_hidden, before, *workspaces = ctx.saved_tensors
        grad_hidden = grad_outputs[-1]
        of_inputs, of_recurrent = [], []  # last step first
        for t in reversed(range(len(workspaces))):
            grad_gates, grad_recurrent, grad_before = gru_cell_backward(grad_hidden, workspaces[t])
            of_inputs.append(grad_gates)
            of_recurrent.append(grad_recurrent)
            grad_before.addmm_(grad_recurrent, of_hidden)
            grad_hidden = reset_and_add(grad_before, going_on[t], grad_outputs[t - 1] if t else None)
        grad_gates, grad_recurrent = torch.stack(of_inputs[::-1]), torch.stack(of_recurrent[::-1])
        grad_weights = grad_recurrent.flatten(0, 1).T @ before.flatten(0, 1)
        return grad_gates, None, grad_hidden, grad_weights, grad_gates.sum((0, 1)), grad_recurrent.sum((0, 1))


class UnrolledLstm(Function):
    """gates [T, N, 4H] of the inputs, going_on [T, N, 1], hidden and cell [N, H] before -> hidden [T, N, H] after every
    step, cell [N, H] after the last.
    """

    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        going_on: Tensor,
        hidden: Tensor,
        cell: Tensor,
        of_hidden: Tensor,
        input_bias: Tensor,
        hidden_bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        before, cells_before = (hidden.new_empty(len(gates), *hidden.shape) for _ in range(2))
        recurrent = torch.empty_like(gates[0])
        outputs, cells, workspaces = [], [], []
        for t in range(len(gates)):
            torch.mul(hidden, going_on[t], out=before[t])
            torch.mul(cell, going_on[t], out=cells_before[t])
            torch.mm(before[t], of_hidden.T, out=recurrent)
            hidden, cell, workspace = lstm_cell(gates[t], recurrent, cells_before[t], input_bias, hidden_bias)
            outputs.append(hidden)
            cells.append(cell)
            workspaces.append(workspace)
        ctx.save_for_backward(going_on, of_hidden, before, cells_before, *cells, *workspaces)
        return torch.stack(outputs), cell.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_outputs: Tensor, grad_cell: Tensor) -> tuple[Tensor | None, ...]:
        going_on, of_hidden, before, cells_before, *saved = ctx.saved_tensors
        T = len(grad_outputs)  # noqa: N806 -- axes are capitals
        cells, workspaces = saved[:T], saved[T:]
        grad_hidden = grad_outputs[-1]
        of_gates = []  # last step first
        for t in reversed(range(T)):
            grad_gates, grad_cell = lstm_cell_backward(grad_hidden, grad_cell, cells_before[t], cells[t], workspaces[t])
            of_gates.append(grad_gates)
            grad_cell.mul_(going_on[t])
            grad_hidden = reset_and_add(grad_gates @ of_hidden, going_on[t], grad_outputs[t - 1] if t else None)
        grad_gates = torch.stack(of_gates[::-1])
        grad_weights = grad_gates.flatten(0, 1).T @ before.flatten(0, 1)
        grad_bias = grad_gates.sum((0, 1))
        return grad_gates, None, grad_hidden, grad_cell, grad_weights, grad_bias, grad_bias.clone()


def reset_and_add(grad_before: Tensor, going_on: Tensor, grad_output: Tensor | None) -> Tensor:
    """What reaches the state after the step before: nothing over an episode's start, and what its own output gets."""
    return grad_before * going_on if grad_output is None else torch.addcmul(grad_output, grad_before, going_on)


def gru_cell(
    gates: Tensor, recurrent: Tensor, hidden: Tensor, input_bias: Tensor, hidden_bias: Tensor
) -> tuple[Tensor, Tensor]:
    """The state after a step, and what its backward needs: reset, update and new gate, state before, recurrent part of
    the new gate [N, 5H]. One kernel on a GPU; elsewhere the formulas, which tests compare with it.
    """
    if gates.is_cuda:
        after, workspace = torch.ops.aten._thnn_fused_gru_cell(gates, recurrent, hidden, input_bias, hidden_bias)
        return after, workspace
    input_r, input_z, input_n = (gates + input_bias).chunk(3, 1)
    recurrent_r, recurrent_z, recurrent_n = (recurrent + hidden_bias).chunk(3, 1)
    r, z = (input_r + recurrent_r).sigmoid(), (input_z + recurrent_z).sigmoid()
    n = (input_n + r * recurrent_n).tanh()
    return n + z * (hidden - n), torch.cat([r, z, n, hidden, recurrent_n], 1)


def gru_cell_backward(grad_hidden: Tensor, workspace: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the inputs' gates, of the recurrent ones, and of the state before by the way past the gates."""
    if grad_hidden.is_cuda:
        fused = torch.ops.aten._thnn_fused_gru_cell_backward
        of_gates, of_recurrent, of_before, *_ = fused(grad_hidden, workspace, False)
        return of_gates, of_recurrent, of_before
    r, z, n, hidden, recurrent_n = workspace.chunk(5, 1)
    of_n = grad_hidden * (1 - z) * (1 - n * n)
    of_z = grad_hidden * (hidden - n) * z * (1 - z)
    of_r = of_n * recurrent_n * r * (1 - r)
    return torch.cat([of_r, of_z, of_n], 1), torch.cat([of_r, of_z, of_n * r], 1), grad_hidden * z


def lstm_cell(
    gates: Tensor, recurrent: Tensor, cell: Tensor, input_bias: Tensor, hidden_bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """State and cell after a step, and what its backward needs: input, forget, cell and output gate [N, 4H]."""
    if gates.is_cuda:
        hidden, after, workspace = torch.ops.aten._thnn_fused_lstm_cell(gates, recurrent, cell, input_bias, hidden_bias)
        return hidden, after, workspace
    i, f, g, o = (gates + recurrent + input_bias + hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    after = f * cell + i * g
    return o * after.tanh(), after, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(
    grad_hidden: Tensor, grad_cell: Tensor, before: Tensor, after: Tensor, workspace: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the gates and of the cell before."""
    if grad_hidden.is_cuda:
        fused = torch.ops.aten._thnn_fused_lstm_cell_backward_impl
        of_gates, of_before, *_ = fused(grad_hidden, grad_cell, before, after, workspace, False)
        return of_gates, of_before
    i, f, g, o = workspace.chunk(4, 1)
    shown = after.tanh()
    of_cell = grad_cell + grad_hidden * o * (1 - shown * shown)
    of_i, of_f = of_cell * g * i * (1 - i), of_cell * before * f * (1 - f)
    of_g, of_o = of_cell * i * (1 - g * g), grad_hidden * shown * o * (1 - o)
    return torch.cat([of_i, of_f, of_g, of_o], 1), of_cell * f
