"""The harness: every variant with every seed, and a table and a plot that say what happened."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mario_a3c.bench.ablation import VARIANTS, Curve, Variant, make_settings, make_table, run_variants
from mario_a3c.bench.ablation_plot import make_plot
from mario_a3c.bench.replay import measure_sampling
from mario_a3c.bench.short_training import ShortTraining
from mario_a3c.experience.config import ReplayConfig
from mario_a3c.learning.config import LearnerConfig
from tests.support.small_networks import make_network
from tests.support.tasks import Corridor
from tests.support.torch_threads import one_thread

__all__ = ["one_thread"]
CURVES = [
    Curve("plain", 0, [float("nan"), 0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 2.0),
    Curve("plain", 1, [0.0] * 4 + [1.0] * 5, 4.0),
    Curve("other & worse", 0, [0.0] * 9, 1.0),
    Curve("other & worse", 1, [1.0] * 9, 1.0),
]


def test_every_variant_is_run_with_every_seed_and_says_what_is_left() -> None:
    variants = [each for each in VARIANTS if each.name in ("one pass, GAE", "with replay")]
    lines: list[str] = []

    def make(variant: Variant, seed: int) -> ShortTraining:
        learner, returns, replay = make_settings(variant, LearnerConfig(), ReplayConfig(per_capacity=16, per_batch=4))
        envs, model = Corridor(4, length=2, frame_stack=1), make_network(3, seed=seed)
        return ShortTraining(envs, model, learner, returns, replay, rollout_steps=8, total_updates=3, seed=seed)

    curves = run_variants(variants, [0, 1], make, lines.append)
    assert [(curve.variant, curve.seed, len(curve.returns)) for curve in curves] == [
        ("one pass, GAE", 0, 3),
        ("with replay", 0, 3),
        ("one pass, GAE", 1, 3),
        ("with replay", 1, 3),
    ]
    assert lines[-1].startswith("4 of 4: with replay, seed 1: return ")
    assert lines[-1].endswith("; 0 s left")


def test_every_variant_has_settings_that_exist_and_a_name_of_its_own() -> None:
    for variant in VARIANTS:
        make_settings(variant, LearnerConfig(), ReplayConfig())
        make_network(3, **variant.network)
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    with pytest.raises(TypeError):
        make_settings(replace(VARIANTS[0], learner={"no_such_setting": 1}), LearnerConfig(), ReplayConfig())


def test_the_table_says_how_good_how_soon_and_at_what_cost() -> None:
    rows = make_table(CURVES, best_return=1.0).splitlines()
    assert rows[2] == "| plain | 1.00 | 1.00 | 8 | 3.0 |"
    assert rows[3] == "| other & worse | 0.50 | 0.00 | 1 of 2 seeds | 1.0 |"


def test_the_plot_is_a_picture_with_a_line_for_each_variant() -> None:
    picture = ET.fromstring(make_plot(CURVES, "a <title> & more", best_return=1.0))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "plain" in texts
    assert "other & worse" in texts
    assert "a <title> & more" in texts
    heights = [float(point.split(",")[1]) for point in lines[1].get("points", "").split()]
    assert max(heights) - min(heights) < 1e-6  # the mean of 0 and 1, all along


def test_sampling_is_measured_on_the_cpu_at_least() -> None:
    (time, *_) = measure_sampling(capacity=1000, batch=8, num_draws=3)
    assert time.device == "cpu"
    assert time.microseconds > 0
