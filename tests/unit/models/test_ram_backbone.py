"""What a network makes of the console's memory. Addresses are the game's own, written out a second time here."""

import numpy as np
import pytest
import torch
from torch import Tensor

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.execution import Execution
from mario_a3c.models.ram_backbone import RamBackbone

# First byte of each row that says something of the enemies, of which there are six.
PRESENT, KIND, STATE, TIMER = 0x0F, 0x16, 0x1E, 0x0796
ENEMY_ROWS = (PRESENT, KIND, STATE, TIMER, 0x58, 0x6E, 0x87, 0xA0, 0xB6, 0xCF)
PLAYER_X_PAGE, PLAYER_X, PLAYER_Y_SCREEN, PLAYER_Y = 0x6D, 0x86, 0xB5, 0xCE
BLOCKS, COIN, BRICK = 0x0500, 0xC2, 0x51
FIREBAR = 0x1B


def memory() -> Tensor:
    """The player at (300, 176) of a room, an enemy 40 pixels before it. uint8 [2048]"""
    ram = torch.zeros(2048, dtype=torch.uint8)
    ram[[PLAYER_X_PAGE, PLAYER_X, PLAYER_Y_SCREEN, PLAYER_Y]] = torch.tensor([1, 44, 1, 176], dtype=torch.uint8)
    of_enemy = (1, 6, 0, 0, 248, 1, 84, 0, 1, 176)
    for first, byte in zip(ENEMY_ROWS, of_enemy, strict=True):
        ram[first] = byte
    return ram


def changed(**bytes_at: int) -> Tensor:
    ram = memory()
    for address, byte in bytes_at.items():
        ram[int(address.removeprefix("at_"), 16)] = byte
    return ram


def frames(*rams: Tensor, picture: int = 0, num_frames: int = 1, before: int = 0) -> Tensor:
    """As `--observe both` shows them, the frames before the newest full of `before`. uint8 [B, num_frames, 110, 84]"""
    shown = torch.full((len(rams), num_frames, 84 + 26, 84), before, dtype=torch.uint8)
    shown[:, -1, :84] = picture
    for row, ram in zip(shown, rams, strict=True):
        row[-1, 84:] = torch.from_numpy(np.pad(ram.numpy(), (0, 26 * 84 - 2048)).reshape(26, 84))
    return shown


@pytest.fixture
def backbone() -> RamBackbone:
    torch.manual_seed(0)
    return RamBackbone(hidden_size=32, width=84).requires_grad_(False)


def test_only_the_memory_of_the_newest_frame_is_read(backbone: RamBackbone) -> None:
    features = backbone(frames(memory()))
    assert features.shape == (1, 32)
    assert torch.equal(backbone(frames(memory(), picture=200)), features)
    assert torch.equal(backbone(frames(memory(), num_frames=3, before=77)), features)
    assert torch.equal(backbone(frames(memory())[:, :, 84:]), features), "without a picture above it"
    assert not torch.equal(backbone(frames(changed(at_CE=175))), features)


def test_an_enemy_is_the_same_wherever_the_game_keeps_it(backbone: RamBackbone) -> None:
    elsewhere = memory()
    for first in ENEMY_ROWS:
        elsewhere[first + 3], elsewhere[first] = elsewhere[first].item(), 0
    features = backbone(frames(memory()))
    torch.testing.assert_close(backbone(frames(elsewhere)), features)
    absent = backbone(frames(changed(at_0F=0)))
    assert not torch.allclose(absent, features, atol=1e-3)


@pytest.mark.parametrize("address", [KIND, STATE, TIMER, 0x58, 0x87, 0xA0, 0xCF])
def test_everything_about_an_enemy_counts(backbone: RamBackbone, address: int) -> None:
    ram = memory()
    ram[address] += 3
    assert not torch.allclose(backbone(frames(ram)), backbone(frames(memory())), atol=1e-5)


def test_what_is_far_away_or_gone_is_not_seen(backbone: RamBackbone) -> None:
    absent = backbone(frames(changed(at_0F=0)))
    torch.testing.assert_close(backbone(frames(changed(at_6E=2))), absent)  # a screen further on
    torch.testing.assert_close(backbone(frames(changed(at_B6=3))), absent)  # two screens below


def test_what_is_left_out_of_the_sum_would_add_nothing_to_it(backbone: RamBackbone) -> None:
    """Not so on a GPU, where all of them are computed."""
    generator = torch.Generator().manual_seed(0)
    is_there = torch.rand(7, 15, generator=generator) < 0.3
    is_there[2] = False
    objects = torch.randn(7, 15, backbone.objects.in_features, generator=generator)
    everything = (backbone.objects(objects).relu() * is_there[..., None]).sum(1)
    torch.testing.assert_close(backbone._sum_of(objects, is_there), everything)


def test_it_is_compiled_once_however_many_objects_are_there(backbone: RamBackbone) -> None:
    num_graphs = 0

    def count(graph: torch.fx.GraphModule, _inputs: list[Tensor]) -> torch.fx.GraphModule:
        nonlocal num_graphs
        num_graphs += 1
        return graph

    one, nobody = memory(), changed(at_0F=0)
    both = [backbone(frames(*rams)) for rams in ((one, one), (one, nobody))]
    backbone.compile(dynamic=False, backend=count)
    for rams, features in zip(((one, one), (one, nobody)), both, strict=True):
        torch.testing.assert_close(backbone(frames(*rams)), features)
    assert num_graphs == 1


def test_the_angle_of_a_firebar_is_read(backbone: RamBackbone) -> None:
    turned = [backbone(frames(changed(at_16=FIREBAR, at_A0=angle))) for angle in (3, 4, 3 + 32)]
    assert not torch.allclose(turned[0], turned[1], atol=1e-3)
    speeds = [backbone(frames(changed(at_16=6, at_A0=angle))) for angle in (0, 0x80)]
    assert not torch.allclose(speeds[0], speeds[1], atol=1e-3), "of others it is a speed"


def test_blocks_around_the_player_are_seen_and_coins_are_not(backbone: RamBackbone) -> None:
    column, row = 300 // 16, (176 + 16 - 32) // 16
    before = BLOCKS + 0xD0 + row * 16 + column % 16 + 2  # in the second of the two screens
    features = backbone(frames(memory()))

    def with_block(address: int, block: int) -> Tensor:
        ram = memory()
        ram[address] = block
        shown: Tensor = backbone(frames(ram))
        return shown

    assert not torch.allclose(with_block(before, BRICK), features, atol=1e-3)
    assert torch.equal(with_block(before, COIN), features)
    assert torch.equal(with_block(BLOCKS + row * 16, BRICK), features), "the far end of the other screen"


def test_places_are_told_apart(backbone: RamBackbone) -> None:
    """A block further on, in another room, in another stage: everything that is near being the same."""
    others = [changed(at_86=60, at_87=100), changed(at_E7=5), changed(at_075C=1), changed(at_075F=1)]
    features = backbone(frames(memory(), *others))
    assert len({tuple(row.tolist()) for row in features}) == 5


def test_half_precision_is_close(backbone: RamBackbone) -> None:
    generator = torch.Generator().manual_seed(0)
    rams = [torch.randint(0, 256, (2048,), dtype=torch.uint8, generator=generator) for _ in range(16)]
    exact = backbone(frames(*rams))
    backbone.precision = torch.bfloat16
    with_casts = backbone(frames(*rams))
    stored = backbone.to(torch.bfloat16)(frames(*rams))
    assert with_casts.dtype == stored.dtype == torch.float32
    assert (with_casts - exact).norm() < 0.02 * exact.norm()
    assert (stored - exact).norm() < 0.02 * exact.norm()


def test_a_network_that_reads_memory_steps_as_it_unrolls() -> None:
    torch.manual_seed(0)
    model = MarioActorCritic(ModelConfig(backbone="ram", hidden_size=32), 5, (1, 26, 84))
    Execution("cpu", "float32", "none", "tests").prepare(model)
    observations = torch.randint(0, 256, (3, 2, 1, 26, 84), dtype=torch.uint8)
    starts = torch.zeros(3, 2, dtype=torch.bool)
    with torch.no_grad():
        unrolled = model.unroll(observations, starts, model.initial_state(2))
        stepped = torch.stack([model.step(frame, starts[0], model.initial_state(2)).logits for frame in observations])
    torch.testing.assert_close(stepped, unrolled.logits, atol=1e-5, rtol=1e-5)


def test_who_sees_pictures_sees_nothing_of_what_lies_beneath() -> None:
    torch.manual_seed(0)
    model = MarioActorCritic(ModelConfig(backbone="nature", hidden_size=16), 5, (2, 110, 84), picture_rows=84)
    alone = MarioActorCritic(ModelConfig(backbone="nature", hidden_size=16), 5, (2, 84, 84))
    alone.load_state_dict(model.state_dict())
    observations = torch.randint(0, 256, (3, 2, 110, 84), dtype=torch.uint8)
    with torch.no_grad():
        torch.testing.assert_close(model(observations).logits, alone(observations[:, :, :84]).logits)
