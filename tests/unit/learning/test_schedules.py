from itertools import pairwise

import pytest

from mario_a3c.learning.schedules import Annealing, CosineWithWarmup


@pytest.mark.parametrize("total", [1, 10, 100, 5_000, 50_000, 1_000_000])
def test_the_warm_up_is_a_small_share_of_the_run_and_never_hours(total: int) -> None:
    schedule = CosineWithWarmup(2.5e-4, total)
    assert schedule.num_warmup_updates <= max(1, 0.011 * total)
    assert schedule.num_warmup_updates <= 100
    assert schedule(schedule.num_warmup_updates) == pytest.approx(2.5e-4)
    # The rate of the third update was 1e-7 once, when the warm-up took 10,000 of them.
    assert schedule(3) > 5e-6


def test_the_rate_rises_then_falls_to_its_share_and_stays() -> None:
    schedule = CosineWithWarmup(1.0, 1000, warmup_share=0.01, final_share=0.1)
    rates = [schedule(update) for update in range(1000)]
    assert 0 < rates[0] < rates[1] < rates[9] < 1
    assert rates[10] == 1.0
    assert all(before >= after for before, after in pairwise(rates[10:]))
    assert schedule(505) == pytest.approx(0.55, abs=0.01)
    assert schedule(1000) == schedule(5000) == pytest.approx(0.1)


def test_a_held_rate_falls_as_far_in_what_is_left_of_the_run() -> None:
    schedule = CosineWithWarmup(1.0, 1010, warmup_share=0.01, final_share=0.1, hold_share=0.8)
    warmup = schedule.num_warmup_updates
    at_peak = [update for update in range(1010) if schedule(update) == 1.0]
    assert at_peak == list(range(warmup, warmup + len(at_peak)))
    assert len(at_peak) == pytest.approx(0.8 * 1000, abs=2)
    assert schedule(910) == pytest.approx(0.55, abs=0.01)
    assert schedule(1010) == schedule(5000) == pytest.approx(0.1)


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
def test_the_entropy_weight_goes_from_first_to_last(shape: str) -> None:
    schedule = Annealing(0.01, 0.002, 101, shape)  # type: ignore[arg-type]
    assert schedule(0) == 0.01
    assert schedule(100) == pytest.approx(0.01 if shape == "constant" else 0.002)
    assert schedule(50) == pytest.approx(0.01 if shape == "constant" else 0.006)
    assert schedule(10_000) == schedule(100)
