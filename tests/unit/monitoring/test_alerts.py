"""Each alert is raised by what it is about, and by nothing else."""

import logging
from typing import Any

import pytest

from mario_a3c.monitoring.alerts import RULES, AlertContext, Alerts

CONTEXT = AlertContext(num_actions=7, num_envs=16, per_sample_interval=8)
NUM_RECORDS = 40


def healthy(index: int) -> dict[str, Any]:
    return {
        "update": index * 10,
        "global_step": index * 10_000,
        "episodes_total": index * 20,
        "clear_rate": min(1.0, 0.05 * index),
        "entropy": 1.5 - 0.03 * index,
        "env_steps_per_sec": 1000.0 + index % 3,
        "loss_total": 0.1,
        "skipped_steps": 0,
        "replay_push_total": index * 10_000,
        "td_error_p90": 0.5,
    }


FAULTS: dict[str, dict[str, Any]] = {
    "entropy_collapse": {"entropy": 0.05, "clear_rate": 0.1},
    "clear_rate_falling": {"clear_rate": 0.6},
    "throughput_falling": {"env_steps_per_sec": 400.0},
    "not_finite": {"skipped_steps": 2},
    "no_finished_episode": {"episodes_total": 600},
    "replay_not_filling": {"replay_push_total": 300_000},
    "td_error_drift": {"td_error_p90": 1.5},
}


def names_after(fault: dict[str, Any], context: AlertContext = CONTEXT) -> list[str]:
    """Thirty healthy records, then ten with a fault."""
    alerts, names = Alerts(context), []
    for index in range(NUM_RECORDS):
        names = alerts.look({**healthy(index), **(fault if index >= 30 else {})})
    return names


def test_a_healthy_run_raises_none() -> None:
    assert names_after({}) == []


def test_every_rule_is_tested() -> None:
    assert {rule.name for rule in RULES} == FAULTS.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_raises_its_alert(name: str) -> None:
    raised = names_after(FAULTS[name])
    assert name in raised
    assert set(raised) <= {name, "clear_rate_falling"}  # a collapsed policy also clears less


def test_a_policy_that_clears_may_be_sure_of_itself() -> None:
    assert names_after({"entropy": 0.05, "clear_rate": 1.0}) == []


def test_td_errors_may_grow_where_samples_are_drawn_often_or_never() -> None:
    for interval in (1, None):
        assert names_after(FAULTS["td_error_drift"], AlertContext(7, 16, interval)) == []


def test_old_records_without_the_fields_raise_none() -> None:
    alerts = Alerts(CONTEXT)
    for index in range(NUM_RECORDS):
        record = {"update": index, "global_step": index, "episodes_total": index, "loss_total": 0.1}
        assert alerts.look(record) == []


def test_an_alert_says_what_to_do_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    alerts = Alerts(CONTEXT, clock=lambda: now)
    with caplog.at_level(logging.INFO, "mario.alert"):
        for second in range(700):
            now = float(second)
            alerts.look({**healthy(0), "update": second, "episodes_total": second, "skipped_steps": 1})
        now = 700.0
        alerts.look(healthy(1))
    texts = [record.getMessage() for record in caplog.records if record.getMessage().startswith("not_finite")]
    assert len(texts) == 3  # at once, after ten minutes, and at the end
    assert "--no-amp" in texts[0]
    assert texts[-1] == "not_finite is over"
