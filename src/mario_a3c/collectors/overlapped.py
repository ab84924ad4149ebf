"""Collecting goes on while the learner works: for one GPU.

    learner    | wait | learn 0 | learn 1 | learn 2 |
    collector  |  0   |    1    |    2    |    3    |
    acts with    w0        w0        w1        w2        (wk: the weights after k updates)

A rollout is begun when the one before is handed over, with the weights that are there then. So every rollout but the
first acts with weights that are one update old when it is learned from, never more and never less, and equal seeds give
equal runs. The actors have weights of their own, which change only while nobody acts: there is nothing to lock.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.collectors.clocked_envs import ClockedEnvs
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.slot_writer import SlotWriter
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.experience.rollout import TENSORS, Rollout, RolloutBuffer, RolloutShape
from mario_a3c.stateful import State

Episodes = npt.NDArray[Any]


class OverlappedCollector:
    """Groups of environments, each with a thread that acts and steps; while one group is stepped, another decides.

    Two slots: one belongs to the learner, one to the threads; they change hands in `next_rollout`. What fails in a
    thread is raised there, with the thread's own traceback.
    """

    def __init__(
        self, config: CollectorConfig, groups: Sequence[EnvBatch], actors: Sequence[Actor], *, frame_stack: int = 4
    ) -> None:
        """`actors` act with a network that nobody else changes: `Execution.acting_copy`."""
        self._is_closed = False
        self.clocks = [ClockedEnvs(envs, self._raise_if_closed) for envs in groups]
        self._writers = [SlotWriter(envs, actor, frame_stack) for envs, actor in zip(self.clocks, actors, strict=True)]
        self._device = actors[0].device
        self._buffer = self._make_buffer(config.rollout_steps, frame_stack)
        self._threads = ThreadPoolExecutor(len(groups), thread_name_prefix="mario-collect")
        self._cuda_streams = [make_stream(self._device) for _ in groups] if self._device.type == "cuda" else []
        self._busy = [0.0] * len(groups)
        self._published: Weights | None = None
        self._running: list[Future[Episodes]] = []
        self._slot = 0
        self._has_acted = False

    def next_rollout(self) -> Rollout:
        """Waits for the rollout that is being collected, and begins the next one."""
        if not self._running:
            self._begin()
        rollout = self._finish()
        self._slot = 1 - self._slot
        self._begin()
        return rollout

    def publish(self, weights: Weights) -> None:
        """They are taken up when the next rollout begins; until then whoever acts has older ones."""
        self._published = weights

    def busy_seconds(self) -> float:
        """How long an average group has been collecting."""
        return sum(self._busy) / len(self._busy)

    def state(self) -> State:
        """After the rollout that is being collected: a run that goes on from here does without that one."""
        self._wait()
        return {f"group{index}": writer.state() for index, writer in enumerate(self._writers)}

    def restore(self, state: State) -> None:
        self._wait()
        self._running = []
        for index, writer in enumerate(self._writers):
            writer.restore(state[f"group{index}"])

    def close(self) -> None:
        """What is being collected is given up at its next step."""
        self._is_closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        for clock in self.clocks:
            clock.close()

    def _make_buffer(self, num_steps: int, frame_stack: int) -> RolloutBuffer:
        num_envs = sum(envs.num_envs for envs in self.clocks)
        shape = RolloutShape(num_steps, num_envs, frame_stack, *self.clocks[0].observations.shape[2:])
        memory = self._writers[0].actor.model.initial_state(num_envs)
        return RolloutBuffer(2, shape, state=memory, device=self._device)

    def _begin(self) -> None:
        if self._published is not None:
            for writer in self._writers:
                writer.actor.load(self._published)
        for stream in self._cuda_streams:
            stream.wait_stream(torch.cuda.current_stream(self._device))
        self._running = []
        for group in range(len(self._writers)):
            self._running.append(self._threads.submit(self._fill, group, self._slot))
            if not self._has_acted:
                self._wait()  # the first decision may be recorded as a graph, which suffers no other work on the device
        self._has_acted = True

    def _fill(self, group: int, slot: int) -> Episodes:
        started = time.perf_counter()
        view = self._view(group, slot)
        if not self._cuda_streams:
            episodes = self._writers[group].fill(view)
        else:
            stream = self._cuda_streams[group]
            with torch.cuda.device(self._device), torch.cuda.stream(stream):
                episodes = self._writers[group].fill(view)
                stream.synchronize()
        self._busy[group] += time.perf_counter() - started
        return episodes

    def _finish(self) -> Rollout:
        episodes = np.concatenate([each.result() for each in self._running])
        version = self._writers[0].actor.weights_version
        return self._buffer.seal(self._slot, weights_version=version, episodes=episodes)

    def _view(self, group: int, slot: int) -> Rollout:
        """A group's columns of a slot."""
        whole = self._buffer[slot]
        first = sum(envs.num_envs for envs in self.clocks[:group])
        columns = slice(first, first + self.clocks[group].num_envs)
        tensors = {name: getattr(whole, name)[:, columns] for name in TENSORS}
        return replace(whole, **tensors, state={name: each[columns] for name, each in whole.state.items()})

    def _wait(self) -> None:
        for each in self._running:
            each.result()

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("the collector is closed")


def make_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
