import pytest
import torch

from mario_a3c.models.transformer import PositionalEncoding, TransformerMemory, steps_into_episode


def test_positions_count_from_each_episodes_start() -> None:
    starts = torch.tensor([[0, 1], [0, 0], [1, 0], [0, 0], [1, 0]], dtype=torch.bool)
    positions = steps_into_episode(starts, torch.tensor([3, 8]))
    assert positions.T.tolist() == [[3, 4, 0, 1, 0], [0, 1, 2, 3, 4]]


def test_positions_have_codes_of_their_own_however_long_the_episode() -> None:
    codes = PositionalEncoding(32)(torch.arange(5000))
    assert codes.shape == (5000, 32)
    distances = torch.cdist(codes[::50], codes[::50]) + torch.eye(100)
    assert distances.min() > 0.1


def test_what_is_carried_does_not_grow_with_the_episode_and_looks_back_no_further_than_asked() -> None:
    torch.manual_seed(0)
    memory = TransformerMemory(8, 8, num_layers=1, num_heads=2, memory_length=4, is_gated=True)
    features = torch.randn(30, 2, 8)
    changed = features.clone()
    changed[10] += 1.0
    starts = torch.zeros(30, 2, dtype=torch.bool)
    with torch.no_grad():
        one, state = memory.unroll(features, starts, memory.initial_state(2))
        other, _ = memory.unroll(changed, starts, memory.initial_state(2))
    assert {name: tensor.shape for name, tensor in state.items()} == {
        "keys_0": (2, 4, 8),
        "values_0": (2, 4, 8),
        "position": (2,),
    }
    differs = (one - other).abs().amax(dim=(1, 2)) > 0
    assert differs.nonzero().flatten().tolist() == [10, 11, 12, 13, 14], "itself and the four steps after it"


@pytest.mark.parametrize("is_gated", [False, True])
def test_the_order_of_steps_matters(is_gated: bool) -> None:
    """Attention by itself sees a set; positions make it a sequence."""
    torch.manual_seed(0)
    memory = TransformerMemory(8, 8, num_layers=1, num_heads=2, memory_length=8, is_gated=is_gated)
    features, starts = torch.randn(6, 2, 8), torch.zeros(6, 2, dtype=torch.bool)
    swapped = features[[1, 0, 2, 3, 4, 5]]
    with torch.no_grad():
        one, _ = memory.unroll(features, starts, memory.initial_state(2))
        other, _ = memory.unroll(swapped, starts, memory.initial_state(2))
    assert ((one[-1] - other[-1]).abs().amax(dim=1) > 1e-4).all()
