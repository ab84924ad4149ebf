"""Known values, uniformity, independence of the batch, equality on every device."""

import numpy as np
import pytest
import torch

from mario_a3c.random_numbers import gumbel, make_keys, mix, normal, permutation, random_bits, uniform
from tests.support.gpu import on_gpu


def splitmix64(state: int) -> int:
    """Steele et al. 2014, with Python's whole numbers."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return state ^ (state >> 31)


def test_the_mixing_is_splitmix64() -> None:
    states = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1000)
    ours = mix(torch.tensor(states)).numpy().astype(np.uint64)
    assert ours.tolist() == [splitmix64(int(state) % 2**64) for state in states]
    # The first numbers of the published generator with seed 1234567.
    keys = torch.full((3,), 1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert random_bits(keys, torch.tensor([1, 2, 3])).numpy().astype(np.uint64).tolist() == published


def test_a_number_depends_on_seed_purpose_stream_and_counter_and_on_nothing_else() -> None:
    keys = make_keys(7, "act", torch.arange(64))
    alone = make_keys(7, "act", torch.tensor([41]))
    assert uniform(keys, 5)[41] == uniform(alone, 5)[0]
    others = [make_keys(8, "act", torch.arange(64)), make_keys(7, "noise", torch.arange(64))]
    for other in others:
        assert not (uniform(other, 5) == uniform(keys, 5)).any()
    assert not (uniform(keys, 6) == uniform(keys, 5)).any()


def test_numbers_are_uniform_over_streams_and_over_counters() -> None:
    num_bins, num_draws = 64, 1 << 16
    for drawn in (
        uniform(make_keys(1, "act", torch.arange(num_draws)), 3),
        uniform(make_keys(1, "act", torch.tensor(3)), torch.arange(num_draws)),
    ):
        assert drawn.min() > 0
        assert drawn.max() < 1
        counts = torch.histc(drawn, num_bins, 0, 1).double()
        expected = num_draws / num_bins
        chi_square = float(((counts - expected) ** 2 / expected).sum())
        assert chi_square < 63 + 5 * (2 * 63) ** 0.5  # five standard deviations


def test_neighbouring_streams_and_counters_are_uncorrelated() -> None:
    grid = uniform(make_keys(2, "act", torch.arange(512))[:, None], torch.arange(512)) - 0.5  # [streams, counters]
    for shifted in (grid[1:] * grid[:-1], grid[:, 1:] * grid[:, :-1]):
        assert abs(float(shifted.mean())) * 12 < 5 / shifted.numel() ** 0.5


def test_normal_and_gumbel_numbers_have_their_moments() -> None:
    keys, counters = make_keys(3, "noise", torch.tensor(0)), torch.arange(1 << 16)
    numbers = normal(keys, counters)
    assert abs(float(numbers.mean())) < 0.02
    assert float(numbers.std()) == pytest.approx(1, abs=0.02)
    numbers = gumbel(keys, counters)
    assert torch.isfinite(numbers).all()
    assert float(numbers.mean()) == pytest.approx(np.euler_gamma, abs=0.03)
    assert float(numbers.var()) == pytest.approx(np.pi**2 / 6, abs=0.06)


def test_the_extremes_of_the_generator_stay_inside() -> None:
    assert torch.isfinite(-torch.log(-torch.log(torch.tensor([0.5, 2**23 - 0.5]) / 2**23))).all()


def test_a_permutation_has_every_number_once_and_is_another_for_each_counter() -> None:
    first, second = (permutation(100, 5, counter, torch.device("cpu")) for counter in (0, 1))
    assert sorted(first.tolist()) == list(range(100))
    assert first.tolist() != second.tolist()


@on_gpu
def test_a_gpu_gives_the_same_numbers() -> None:
    streams, counters = torch.arange(4096), torch.arange(16)
    here = uniform(make_keys(9, "act", streams)[:, None], counters)
    there = uniform(make_keys(9, "act", streams.cuda())[:, None], counters.cuda())
    assert torch.equal(here, there.cpu())
    graph = torch.cuda.CUDAGraph()
    keys, counter = make_keys(9, "act", streams.cuda())[:, None], torch.zeros((), dtype=torch.int64, device="cuda")
    uniform(keys, counters.cuda() + counter)
    torch.cuda.synchronize()
    moved = counters.cuda()
    with torch.cuda.graph(graph):
        recorded = uniform(keys, moved + counter)
    counter.fill_(3)
    graph.replay()
    assert torch.equal(recorded.cpu(), uniform(make_keys(9, "act", streams)[:, None], counters + 3))
