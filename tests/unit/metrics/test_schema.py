"""One table decides what records look like."""

import dataclasses
import re
from pathlib import Path

import pytest

from mario_a3c.evaluation.summary import Summary
from mario_a3c.metrics.schema import (
    EVALUATIONS,
    FIELDS,
    METRICS,
    SUMMARIES,
    complete,
    curves,
    problems_of,
)
from mario_a3c.metrics.schema_page import schema_page

# The fields that are promised by name.
PROMISED = [
    "loss_total",
    "avg_return",
    "recent_return_p50",
    "recent_return_p90",
    "recent_return_p99",
    "env_steps_per_sec",
    "updates_per_sec",
    "replay_fill_rate",
    "replay_last_unique_ratio",
    "replay_avg_unique_ratio",
    "replay_push_total",
    "avg_sample_unique_ratio",
    "gpu_util_last",
    "gpu_util_mean_window",
    "gpu_mem_used_mb",
    "entropy",
    "learning_rate",
    "grad_norm",
    "policy_lag",
    "clear_rate",
]


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_field_is_in_every_record_and_is_a_curve(name: str) -> None:
    assert name in complete("metrics", {})
    assert FIELDS["metrics"][name].is_curve


def test_a_record_has_every_field_and_no_number_that_json_lacks() -> None:
    record = complete("metrics", {"loss_total": float("nan"), "kl": 0.5, "end_shares": {"flag": float("inf")}})
    assert list(record) == [field.name for field in METRICS]
    assert (record["loss_total"], record["kl"], record["end_shares"]) == (None, 0.5, {"flag": None})
    assert problems_of(record) == []


def test_an_unknown_name_is_a_defect() -> None:
    with pytest.raises(ValueError, match="no_such_metric"):
        complete("metrics", {"no_such_metric": 1})


def test_problems_are_named() -> None:
    record = complete("episode", {"stage": "1-1"})
    del record["length"]
    wrong = {**record, "extra": 1, "return": "much", "update": 1.5}
    assert problems_of(wrong) == [
        "unknown field extra",
        "length is missing",
        "update is 1.5, not integer",
        "return is 'much', not number",
    ]
    assert problems_of({"kind": "dream"}) == ["unknown kind 'dream'"]


def test_curves_are_numbers_under_their_group() -> None:
    record = complete("metrics", {"update": 3, "kl": 0.5, "clear_rate_by_stage": {"1-1": 0.25}, "alerts": ["x"]})
    assert dict(curves(record)) == {"learning/kl": 0.5, "clear_rate/1-1": 0.25}


def test_names_and_tags_are_unique() -> None:
    for fields in FIELDS.values():
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in fields)
    tags = [field.tag for field in METRICS if field.is_curve]
    assert len(tags) == len(set(tags))


def test_summaries_of_evaluations_are_described_as_they_are() -> None:
    assert [field.name for field in SUMMARIES] == [field.name for field in dataclasses.fields(Summary)]


def test_the_page_has_every_field(repository: Path) -> None:
    page = schema_page()
    for fields in (*FIELDS.values(), *({each.name: each for each in more} for more in (EVALUATIONS, SUMMARIES))):
        for name in fields:
            assert f"| `{name}` |" in page
    assert (repository / "docs" / "metrics_schema.md").read_text() == page
