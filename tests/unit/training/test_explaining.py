"""What is said and drawn about an agent's failures."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.errors import ConfigError
from mario_a3c.evaluation.failures import Choices, Failure
from mario_a3c.native.start_states import Stage
from mario_a3c.training import explaining
from mario_a3c.training.explaining import Explained, Explanation, Trials, draw_failures, explain_in_batches

ACTIONS = ("noop", "right", "right+A")
SCREEN = np.zeros((240, 256, 3), np.uint8)


def choices(steps_before: int, failing: list[float], policy: list[float], held: int | None = 1) -> Choices:
    tries = np.array([[n < 20 * share for n in range(20)] for share in failing])
    tries = tries[:, [*range(0, 20, 2), *range(1, 20, 2)]]  # equal halves
    return Choices(steps_before, held, np.array(policy), tries, SCREEN)


def explanation() -> Explanation:
    stands = Explained(
        Failure(EndReason.STALL, 1, 1170, ()),
        (choices(4, [0.0, 1.0, 1.0], [0.01, 0.0, 0.99], held=2), choices(8, [0.2, 0.4, 0.6], [0.0, 0.5, 0.5], None)),
    )
    unlucky = Explained(
        Failure(EndReason.DEATH, 1, 500, ()),
        (choices(4, [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]), choices(8, [0.2, 0.3, 0.2], [0.6, 0.4, 0.0])),
    )
    return Explanation("an_agent.pt", ACTIONS, Stage(2, 1), 97, 3, (stands, unlucky))


def test_the_table_has_means_over_failures() -> None:
    table = explanation().table()
    assert "an_agent.pt in 2-1: 3 of 97 episodes fail, 2 of them looked at" in table
    assert "| 4 | 100% | 50% |" in table  # 0.99 and 1; 0 and 1
    assert "| 8 | 37% | 20% |" in table
    plain = explanation().as_json()
    assert plain["failures"][0]["moments"][0]["held"] == "right+A"
    assert plain["failures"][0]["moments"][0]["best_action"] == "noop"
    assert plain["failures"][0]["moments"][1]["held"] is None


def test_a_picture_shows_the_moment_that_decided(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shown = explanation()
    assert [each.telling.steps_before for each in shown.failures] == [4, 4]
    assert draw_failures(shown, tmp_path / "new" / "failures.png").stat().st_size > 5000
    saved, lost = (explaining._caption(each, ACTIONS) for each in shown.failures)
    assert "stall at x 1170, 4 steps before, right+A held" in saved
    assert "99% fail as it plays (right+A, p = 0.99)" in saved
    assert "0% after noop (p = 0.01)" in saved
    assert "no action saves it" in lost


def test_an_agent_that_does_not_fail_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faultless:
        num_episodes = 40

        def __init__(self, *_args: Any, **_options: Any) -> None: ...

        def find(self, *_args: Any) -> list[Failure]:
            return []

    monkeypatch.setattr(explaining, "FailureFinder", Faultless)
    agent: Any = SimpleNamespace(model=None, config=SimpleNamespace(vector_env=SimpleNamespace(env=None)))
    trials = Trials(num_failures=3, most_episodes=40, num_tries=4, steps_before=[4], seed=0)
    with pytest.raises(ConfigError, match=r"none of 40 episodes of 2-1 .* --most-episodes"):
        explain_in_batches(agent, "an_agent.pt", Stage(2, 1), lambda *_: None, trials, print)  # type: ignore[arg-type]
