"""Optimizer steps as CUDA graphs."""

from collections.abc import Callable, Hashable

import torch
from torch import Tensor

from mario_a3c.models.execution import CudaGraph, Execution

# More than slots and sizes of minibatches make: then the tensors are others every time, and recording is no use.
_MOST_KINDS = 16


class RecordedSteps:
    """One graph for each kind of step: the same work on the same tensors, but for what it is called with.

    The first step of a kind is made as usual, which compiles and chooses kernels; the second is recorded; from then on
    it is replayed. Elsewhere than on a GPU every step is made as usual.
    """

    def __init__(self, execution: Execution) -> None:
        self._records = torch.device(execution.device).type == "cuda"
        self._graphs: dict[Hashable, CudaGraph | None] = {}

    def __call__(self, kind: Hashable, step: Callable[[Tensor], Tensor], argument: Tensor) -> Tensor:
        """`step(argument)`, recorded or not; the result is the caller's."""
        if not self._records or (kind not in self._graphs and len(self._graphs) == _MOST_KINDS):
            return step(argument)
        if kind not in self._graphs:
            self._graphs[kind] = None
            return step(argument)
        graph = self._graphs[kind]
        if graph is None:
            graph = self._graphs[kind] = CudaGraph(step, (argument,), num_warm_up_calls=0, beside=self._any_graph())
        result: Tensor = graph(argument)
        return result.clone()

    def forget(self) -> None:
        """When tensors that a step reads or writes lie elsewhere now."""
        self._graphs.clear()

    def give_up(self) -> None:
        """Every step is made as usual from now on."""
        self._records = False
        self._graphs.clear()

    def _any_graph(self) -> CudaGraph | None:
        """They are replayed one after the other, so all may use the same memory in between."""
        return next(filter(None, self._graphs.values()), None)
