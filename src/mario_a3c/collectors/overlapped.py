"""Collecting goes on while the learner works: for one GPU.

    learner    | wait | learn 0 | learn 1 | learn 2 |
    collector  |  0   |    1    |    2    |    3    |
    acts with    w0        w0        w1        w2        (wk: the weights after k updates)

A rollout is begun when the one before is handed over, with the weights that are there then. So every rollout but the
first acts with weights that are one update old when it is learned from, never more and never less, and equal seeds give
equal runs. The actors have weights of their own, which change only while nobody acts: there is nothing to lock.
"""

import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mario_a3c.acting.actor import Actor, Weights
from mario_a3c.collectors.clocked_envs import ClockedEnvs
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.collectors.slot_writer import SlotWriter
from mario_a3c.envs.env_batch import EnvBatch
from mario_a3c.errors import SetupError
from mario_a3c.experience.rollout import TENSORS, Rollout, RolloutBuffer, RolloutShape
from mario_a3c.models.execution import URGENT
from mario_a3c.stateful import State

Episodes = npt.NDArray[Any]

# Collected before anything is handed over: the first update, in which the learner's steps are recorded as graphs, has
# the device to itself. The weights are those that the threads would have had.
_FOREGROUND_ROLLOUTS = 2
STUCK_SECONDS = 300.0
_CLOSING_SECONDS = 5.0
_THREAD_NAME = "mario-collect"


class Job(NamedTuple):
    """A slot to fill, and where its episodes go."""

    result: "Future[Episodes]"
    slot: int


class OverlappedCollector:
    """Groups of environments, each with a thread that acts and steps; while one group is stepped, another decides.

    Two slots: one belongs to the learner, one to the threads; they change hands in `next_rollout`. What fails in a
    thread is raised there, with the thread's own traceback.
    """

    policy_lag = 1

    def __init__(
        self,
        config: CollectorConfig,
        groups: Sequence[EnvBatch],
        actors: Sequence[Actor],
        *,
        frame_stack: int = 4,
        before_rollout: Callable[[], None] | None = None,
    ) -> None:
        """`actors` act with a network that nobody else changes: `Execution.acting_copy`.

        `before_rollout` is called while nobody steps the environments: it may change where episodes begin.
        """
        self._before_rollout = before_rollout
        self._is_closed = False
        self.clocks = [ClockedEnvs(envs, self._raise_if_closed) for envs in groups]
        self._writers = [
            SlotWriter(envs, actor, frame_stack, config.rollout_steps)
            for envs, actor in zip(self.clocks, actors, strict=True)
        ]
        self._device = actors[0].device
        self._buffer = self._make_buffer(config.rollout_steps, frame_stack)
        self._jobs: list[queue.SimpleQueue[Job | None]] = [queue.SimpleQueue() for _ in groups]
        # Daemons: one that is stuck must not keep the process from ending.
        self._threads = [
            threading.Thread(target=self._serve, args=(group,), name=f"{_THREAD_NAME}-{group}", daemon=True)
            for group in range(len(groups))
        ]
        for thread in self._threads:
            thread.start()
        self._cuda_streams = [make_stream(self._device) for _ in groups] if self._device.type == "cuda" else []
        self._busy = [0.0] * len(groups)
        self._published: Weights | None = None
        self._running: list[Future[Episodes]] = []
        self._slot = 0
        self._num_begun = 0

    def warm_up(self) -> Rollout:
        for writer in self._writers:
            writer.warm_up()
        return self._buffer[0]

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
        for jobs, thread in zip(self._jobs, self._threads, strict=True):
            jobs.put(None)
            thread.join(_CLOSING_SECONDS)
        for clock in self.clocks:
            clock.close()

    def _make_buffer(self, num_steps: int, frame_stack: int) -> RolloutBuffer:
        num_envs = sum(envs.num_envs for envs in self.clocks)
        shape = RolloutShape(num_steps, num_envs, frame_stack, *self.clocks[0].observations.shape[2:])
        memory = self._writers[0].actor.model.initial_state(num_envs)
        return RolloutBuffer(2, shape, state=memory, device=self._device)

    def _begin(self) -> None:
        if self._before_rollout is not None:
            self._before_rollout()
        if self._published is not None:
            for writer in self._writers:
                writer.actor.load(self._published)
        for stream in self._cuda_streams:
            stream.wait_stream(torch.cuda.current_stream(self._device))
        in_foreground = self._num_begun < _FOREGROUND_ROLLOUTS
        start = self._fill_now if in_foreground else self._fill_in_thread
        self._running = [start(group) for group in range(len(self._writers))]
        self._num_begun += 1

    def _fill_in_thread(self, group: int) -> "Future[Episodes]":
        job = Job(Future(), self._slot)
        self._jobs[group].put(job)
        return job.result

    def _serve(self, group: int) -> None:
        """A thread's life."""
        while (job := self._jobs[group].get()) is not None:
            try:
                job.result.set_result(self._fill(group, job.slot))
            except BaseException as error:  # noqa: BLE001 -- whoever waits for it raises it
                job.result.set_exception(error)

    def _fill_now(self, group: int) -> "Future[Episodes]":
        done: Future[Episodes] = Future()
        done.set_result(self._fill(group, self._slot))
        return done

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
        episodes = np.concatenate(self._wait())
        version = self._writers[0].actor.weights_version
        return self._buffer.seal(self._slot, weights_version=version, episodes=episodes)

    def _view(self, group: int, slot: int) -> Rollout:
        """A group's columns of a slot."""
        whole = self._buffer[slot]
        first = sum(envs.num_envs for envs in self.clocks[:group])
        columns = slice(first, first + self.clocks[group].num_envs)
        tensors = {name: getattr(whole, name)[:, columns] for name in TENSORS}
        return replace(whole, **tensors, state={name: each[columns] for name, each in whole.state.items()})

    def _wait(self) -> list[Episodes]:
        """What failed in a thread is raised; one that is stuck ends the run, with where it is."""
        deadline = time.monotonic() + STUCK_SECONDS
        while not all(each.done() for each in self._running):
            if time.monotonic() > deadline:
                raise SetupError(f"no rollout in {STUCK_SECONDS:.0f} s; the threads that collect are at\n{_stacks()}")
            wait(self._running, timeout=1.0)
        return [each.result() for each in self._running]

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("the collector is closed")


def _stacks() -> str:
    frames = sys._current_frames()
    threads = [each for each in threading.enumerate() if each.name.startswith(_THREAD_NAME) and each.ident in frames]
    return "\n".join(f"{each.name}:\n{''.join(traceback.format_stack(frames[each.ident or 0]))}" for each in threads)


def make_stream(device: torch.device) -> torch.cuda.Stream:
    """A decision is short and consoles wait for it: it goes before the learner's kernels."""
    return torch.cuda.Stream(device, priority=URGENT)  # type: ignore[no-untyped-call]
