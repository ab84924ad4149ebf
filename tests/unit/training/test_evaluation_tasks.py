"""Evaluation every so many updates."""

from pathlib import Path
from typing import Any

import pytest

from mario_a3c.native.start_states import Stage
from mario_a3c.training.child_evaluation import ChildEvaluation
from mario_a3c.training.evaluation_tasks import EvaluateBeside
from mario_a3c.training.evaluator import Moment, Place
from tests.support.arenas import corridor_arena
from tests.support.runs import corridor_config


def test_beside_training_one_evaluation_runs_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[int] = []
    processes: list[Any] = []

    class FakeProcess:
        returncode: int | None = None

        def poll(self) -> int | None:
            return self.returncode

        def wait(self, timeout: float | None = None) -> int:
            self.returncode = 0
            return 0

    def start(folder: Path, update: int, *_: Any, **__: Any) -> ChildEvaluation:
        started.append(update)
        processes.append(FakeProcess())
        return ChildEvaluation(update, folder, processes[-1])

    noted: list[Moment] = []
    monkeypatch.setattr(ChildEvaluation, "start", start)
    monkeypatch.setattr(ChildEvaluation, "result", lambda self: [{"stage": "1-1"}])
    evaluator: Any = type("E", (), {})()
    evaluator.moment = Moment(0, 0, 0.0)
    evaluator.folder, evaluator.metadata, evaluator.seed = tmp_path, {}, 0
    evaluator.place, evaluator.config = Place(corridor_arena, [Stage(1, 1)]), corridor_config(tmp_path)
    evaluator.learner_state = dict
    evaluator.keep = lambda summaries, state, moment: noted.append(moment)
    task = EvaluateBeside(evaluator, interval=10)
    for update in range(1, 41):
        evaluator.moment = Moment(update, 100 * update, 0.5 * update)
        if update == 25:
            processes[0].returncode = 0
        task.run_if_due()
    assert started == [10, 30]  # 20 was left out
    assert noted == [(10, 1000, 5.0)]  # of the weights, not of when the result came
    task.close()
    assert noted == [(10, 1000, 5.0), (30, 3000, 15.0)]
