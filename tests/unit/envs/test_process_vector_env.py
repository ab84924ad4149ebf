"""Environments in processes: the interface, and what happens when a worker dies, hangs or fails."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from mario_a3c.envs import check_vector_env
from mario_a3c.envs.process_vector_env import ProcessVectorEnv
from mario_a3c.errors import ConfigError, SetupError

GO, HANG, DIE, FAIL = range(4)


class Counter(gymnasium.Env[Any, Any]):
    """Counts to ten, and does what a bad environment does when it is told to."""

    observation_space = spaces.Box(0, 255, (1, 2, 2), np.uint8)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.seen(), {"count": 0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == HANG:
            time.sleep(60)
        if action == DIE:
            os._exit(7)
        if action == FAIL:
            raise ArithmeticError("one too many")
        self.count += 1
        return self.seen(), 1.0, self.count == 10, False, {"count": self.count}

    def seen(self) -> Any:
        return np.full((1, 2, 2), self.count, np.uint8)


class Tame(Counter):
    """Whatever it is told, it counts."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return super().step(GO)


class Unmakeable(Counter):
    def __init__(self) -> None:
        raise OSError("no such console")


class Refusing(Counter):
    def __init__(self) -> None:
        raise ConfigError("leave --this out")


class Mortal(Counter):
    """Dies at the first step, whoever replaces it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        os._exit(9)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[ProcessVectorEnv]:
    made = ProcessVectorEnv([Counter, Counter], timeout_seconds=20.0, log_dir=tmp_path / "logs")
    made.reset(seed=0)
    yield made
    made.close()


def test_the_interface_is_gymnasium_s() -> None:
    check_vector_env(lambda: ProcessVectorEnv([Tame, Tame]), num_steps=25)


def test_a_dead_worker_is_replaced_and_the_others_do_not_notice(env: ProcessVectorEnv, tmp_path: Path) -> None:
    for _ in range(3):
        env.step(np.array([GO, GO]))
    observations, rewards, terminated, truncated, infos = env.step(np.array([GO, DIE]))
    assert truncated.tolist() == [False, True]
    assert terminated.tolist() == [False, False]
    assert rewards.tolist() == [1.0, 0.0]
    assert infos["final_info"]["end_reason"][1] == "worker_lost"
    assert (infos["final_obs"][1] == 3).all(), "the last that was seen"
    assert observations[:, 0, 0, 0].tolist() == [4, 0]
    os.kill(env.process_ids[0], signal.SIGKILL)
    observations, _, _, truncated, _ = env.step(np.array([GO, GO]))
    assert truncated.tolist() == [True, False]
    assert observations[:, 0, 0, 0].tolist() == [0, 1]
    assert env.num_replaced == 2
    events = [json.loads(line) for line in (tmp_path / "logs" / "env_start.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["ready", "ready", "replaced", "ready", "replaced", "ready"]
    assert events[2]["exit_code"] == 7
    assert "ready" in (tmp_path / "logs" / "env_1.log").read_text()


def test_a_hung_worker_is_replaced_and_leaves_its_stack(tmp_path: Path) -> None:
    env = ProcessVectorEnv([Counter], timeout_seconds=3.0, log_dir=tmp_path)
    env.reset(seed=0)
    started = time.monotonic()
    *_, truncated, _ = env.step(np.array([HANG]))
    assert truncated.all()
    assert time.monotonic() - started < 20
    assert "in step" in (tmp_path / "env_0.log").read_text(), "where it hung"
    env.close()


def test_an_exception_is_raised_where_somebody_waits(env: ProcessVectorEnv) -> None:
    with pytest.raises(RuntimeError, match=r"environment 0 failed:(?s:.*)ArithmeticError: one too many"):
        env.step(np.array([FAIL, GO]))


def test_what_cannot_be_made_is_an_error_and_not_a_loss() -> None:
    with pytest.raises(RuntimeError, match="no such console"):
        ProcessVectorEnv([Unmakeable])


def test_an_environment_that_dies_again_and_again_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    env = ProcessVectorEnv([Mortal])
    with pytest.raises(SetupError, match="lost 4 times in a row"):
        env.reset(seed=0)
    env.close()
    assert caplog.text.count("is replaced") == 3


def test_an_error_for_people_reaches_them_as_it_is() -> None:
    with pytest.raises(ConfigError, match=r"^leave --this out$"):
        ProcessVectorEnv([Refusing])
