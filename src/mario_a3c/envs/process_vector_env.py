"""One environment per process, for consoles that are not ours: watched, timed, and replaced when they die or hang."""

import faulthandler
import json
import logging
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped] # comes with Gymnasium
import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mario_a3c.errors import MarioError, SetupError

LOG = logging.getLogger("mario.env")

Array = npt.NDArray[Any]
Make = Callable[[], "gymnasium.Env[Any, Any]"]

WORKER_LOST = "worker_lost"
_MAX_REPLACEMENTS_IN_A_ROW = 3
_CLOSE_SECONDS = 5.0
_EVENTS = "env_start.jsonl"


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    num_replaced_in_a_row: int = 0


class ProcessVectorEnv(VectorEnv[Array, Array, Array]):
    """Like Gymnasium's AsyncVectorEnv in SAME_STEP mode, except that no worker can stop it.

    A worker that dies, or is silent for `timeout_seconds`, is replaced. Its environment reports the step as truncated
    with `end_reason` "worker_lost", reward 0 and the last observation that was seen, and goes on with a new episode.
    With `log_dir` each worker keeps `env_<i>.log` there (where a hung one left its stack), and `env_start.jsonl` has
    an event for every start.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, makers: Sequence[Make], *, timeout_seconds: float = 60.0, log_dir: Path | None = None) -> None:
        self.num_envs = len(makers)
        self._makers = [cloudpickle.dumps(make) for make in makers]
        self._timeout_seconds = timeout_seconds
        self._log_dir = log_dir
        if log_dir is not None:
            log_dir.mkdir(parents=True, exist_ok=True)
        self._context = multiprocessing.get_context("spawn")
        self._seeds: list[int | None] = [None] * self.num_envs
        self.num_replaced = 0
        started = time.monotonic()
        self._workers = [self._start(index) for index in range(self.num_envs)]
        spaces = [self._ready(index, started) for index in range(self.num_envs)]
        LOG.info("[env] %d environments in processes, %.2f s", self.num_envs, time.monotonic() - started)
        self.single_observation_space, self.single_action_space = spaces[0]
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._last = [np.zeros(self.single_observation_space.shape or (), self.single_observation_space.dtype)] * len(
            makers
        )

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        self._expect_open()
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, np.bool_))
        seeds = [None] * self.num_envs if seed is None else seed
        self._seeds = [seeds + index if isinstance(seeds, int) else seeds[index] for index in range(self.num_envs)]
        chosen = np.flatnonzero(mask).tolist()
        for index in chosen:
            self._send(index, ("reset", self._seeds[index], options))
        infos: dict[str, Any] = {}
        for index in chosen:
            answer = self._receive(index)
            if answer is None:
                answer = self._replaced(index)
            self._last[index], info = answer
            infos = self._add_info(infos, info, index)
        return np.stack(self._last), infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        self._expect_open()
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} integers, got {actions.dtype} of shape {actions.shape}")
        for index in range(self.num_envs):
            self._send(index, ("step", int(actions[index])))
        rewards = np.zeros(self.num_envs, np.float64)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}
        for index in range(self.num_envs):
            answer = self._receive(index)
            if answer is None:
                truncated[index] = True
                lost = {"final_obs": self._last[index], "final_info": {"end_reason": WORKER_LOST}}
                self._last[index], info = self._replaced(index)
                infos = self._add_info(infos, {**info, **lost}, index)
                continue
            self._workers[index].num_replaced_in_a_row = 0
            self._last[index], rewards[index], terminated[index], truncated[index], info = answer
            infos = self._add_info(infos, info, index)
        return np.stack(self._last), rewards, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        for index in range(self.num_envs):
            self._send(index, ("close",))
        deadline = time.monotonic() + _CLOSE_SECONDS
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            _end(worker)

    @property
    def process_ids(self) -> list[int]:
        return [worker.process.pid or 0 for worker in self._workers]

    def _start(self, index: int) -> _Worker:
        LOG.info("[env] constructing env %d/%d ...", index + 1, self.num_envs)
        ours, theirs = self._context.Pipe()
        log = None if self._log_dir is None else self._log_dir / f"env_{index}.log"
        process = self._context.Process(
            target=_work,
            args=(theirs, self._makers[index], log, self._timeout_seconds),
            name=f"mario-env-{index}",
            daemon=True,
        )
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _ready(self, index: int, started: float) -> tuple[Any, Any]:
        """Its spaces, once it has been made. A worker that cannot be made at all is an error, not a loss."""
        answer = self._receive(index)
        seconds = time.monotonic() - started
        self._record({"event": "ready" if answer else "failed", "env": index, "seconds": round(seconds, 3)})
        if answer is None:
            exit_code = self._workers[index].process.exitcode
            self.close_extras()
            self.closed = True
            raise SetupError(
                f"environment {index} could not be made: its process was silent for {self._timeout_seconds:.0f} s or "
                f"ended (exit code {exit_code}); its log says more where a log folder is given. A script makes "
                'environments in processes under `if __name__ == "__main__":`'
            )
        LOG.info("[env] env %d/%d ready after %.2f s", index + 1, self.num_envs, seconds)
        return answer[0], answer[1]

    def _replaced(self, index: int) -> tuple[Array, dict[str, Any]]:
        """A new worker in the place of one that was lost, with the first observation of its first episode."""
        lost = self._workers[index]
        in_a_row = lost.num_replaced_in_a_row + 1
        exit_code = lost.process.exitcode
        _end(lost)
        if in_a_row > _MAX_REPLACEMENTS_IN_A_ROW:
            raise SetupError(
                f"environment {index} was lost {in_a_row} times in a row (exit code {exit_code}); "
                "`mario doctor` checks the set-up"
            )
        LOG.warning("[env] worker %d was lost (exit code %s) and is replaced", index, exit_code)
        self._record({"event": "replaced", "env": index, "exit_code": exit_code})
        self.num_replaced += 1
        started = time.monotonic()
        self._workers[index] = self._start(index)
        self._workers[index].num_replaced_in_a_row = in_a_row
        self._ready(index, started)
        # Not the seed of before: that would play the same episode again.
        self._send(index, ("reset", None, {}))
        answer = self._receive(index)
        return self._replaced(index) if answer is None else (answer[0], answer[1])

    def _send(self, index: int, message: tuple[Any, ...]) -> None:
        try:
            self._workers[index].connection.send(message)
        except (BrokenPipeError, OSError):
            return  # it is gone, which whoever waits for the answer will see

    def _receive(self, index: int) -> Any:
        """The worker's answer; None when there will be none. Its exception is raised here with its own traceback."""
        connection = self._workers[index].connection
        try:
            if not connection.poll(self._timeout_seconds):
                return None
            kind, answer = connection.recv()
        except (EOFError, OSError):
            self._workers[index].process.join(1.0)
            return None
        if kind == "refused":
            raise answer
        if kind == "error":
            raise RuntimeError(f"environment {index} failed:\n{answer}")
        return answer

    def _record(self, event: dict[str, Any]) -> None:
        if self._log_dir is not None:
            with open(self._log_dir / _EVENTS, "a", encoding="utf-8") as file:
                file.write(json.dumps({"time": time.time(), **event}) + "\n")

    def _expect_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("this vector environment is closed; make a new one")


def _end(worker: _Worker) -> None:
    if worker.process.is_alive():
        worker.process.kill()
    worker.process.join(_CLOSE_SECONDS)
    worker.connection.close()


def _work(connection: Connection, make: bytes, log: Path | None, timeout_seconds: float) -> None:
    """The worker's whole life. What goes wrong is sent to whoever waits, and ends up in the log."""
    file = sys.stderr if log is None else open(log, "a", encoding="utf-8")  # noqa: SIM115 - open as long as it lives
    if log is not None:
        logging.basicConfig(stream=file, level=logging.INFO, format="%(asctime)s %(message)s", force=True)
        faulthandler.enable(file)
    try:
        LOG.info("constructing")
        env = cloudpickle.loads(make)()
        LOG.info("ready")
        connection.send(("answer", (env.observation_space, env.action_space)))
        while True:
            message = connection.recv()
            if message[0] == "close":
                break
            if log is not None:
                # Shortly before it is killed for its silence, it writes down where it hangs.
                faulthandler.dump_traceback_later(timeout_seconds * 0.9, file=file)
            connection.send(("answer", _answer(env, message)))
            if log is not None:
                faulthandler.cancel_dump_traceback_later()
        env.close()
    except (EOFError, KeyboardInterrupt):
        return  # the parent is gone, or is being stopped
    except MarioError as error:
        LOG.info("refused: %s", error)
        connection.send(("refused", error))
    except Exception:  # noqa: BLE001 - handed over, not swallowed
        LOG.info("failed:\n%s", traceback.format_exc())
        connection.send(("error", traceback.format_exc()))


def _answer(env: "gymnasium.Env[Any, Any]", message: tuple[Any, ...]) -> tuple[Any, ...]:
    if message[0] == "reset":
        return env.reset(seed=message[1], options=message[2])
    observation, reward, terminated, truncated, info = env.step(message[1])
    if terminated or truncated:
        final = {"final_obs": observation, "final_info": info}
        observation, info = env.reset()
        info = {**info, **final}
    return observation, reward, terminated, truncated, info
