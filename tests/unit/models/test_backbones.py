import pytest
import torch
from torch import nn

from mario_a3c.errors import ConfigError
from mario_a3c.models.backbones import Backbone, FirstConvolution, ImpalaBlock, ResidualBlock, as_blocks, as_input
from mario_a3c.models.config import ModelConfig

SHAPE = (4, 36, 36)
OPTIONS = [{}, {"layer_norm": True}, {"average_pool": True}, {"layer_norm": True, "average_pool": True}]


def pictures(num: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (num, *SHAPE), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize("name", ["nature", "impala"])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_picture_gives_the_same_features_whatever_else_is_in_the_batch(name: str, options: dict[str, bool]) -> None:
    torch.manual_seed(0)
    backbone = Backbone(ModelConfig(backbone=name, hidden_size=24, **options), SHAPE)  # type: ignore[arg-type]
    one, others = pictures(1), pictures(5, seed=1)
    with torch.no_grad():
        alone = backbone(one)
        together = backbone(torch.cat([one, others]))
    assert together.shape == (6, 24)
    assert alone.std() > 0
    torch.testing.assert_close(together[:1], alone, atol=1e-5, rtol=1e-5)
    assert not any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in backbone.modules())


def test_pictures_are_scaled_inside() -> None:
    """White is 1: the same weights without the division see 255 times as much."""
    backbone = Backbone(ModelConfig(backbone="nature", hidden_size=24), SHAPE)
    white = torch.full((1, *SHAPE), 255, dtype=torch.uint8)
    with torch.no_grad():
        x = torch.relu(backbone.convolutions(torch.ones(1, *SHAPE)))
        torch.testing.assert_close(backbone(white), torch.relu(backbone.fc(x.flatten(1))))


def test_the_impala_block_is_convolution_pool_and_residual_blocks() -> None:
    block = ImpalaBlock(4, 16, num_residual_blocks=2, layer_norm=False)
    assert block(torch.zeros(1, 4, 84, 84)).shape == (1, 16, 42, 42)
    for residual in block.residual:  # whose branches are switched off by zeros, and then nothing of them is left
        for parameter in residual.parameters():
            nn.init.zeros_(parameter)
    x = torch.randn(1, 4, 9, 9)
    expected = nn.functional.max_pool2d(block.conv(x), 3, stride=2, padding=1)
    assert torch.equal(block(x), expected)


def test_widths_and_depth_are_configurable() -> None:
    def num_convolutions(**options: object) -> int:
        backbone = Backbone(ModelConfig(backbone="impala", hidden_size=8, **options), SHAPE)  # type: ignore[arg-type]
        return sum(isinstance(module, nn.Conv2d) for module in backbone.modules())

    assert num_convolutions() == 3 * (1 + 2 * 2)
    assert num_convolutions(impala_channels=(8, 8), residual_blocks=3) == 2 * (1 + 3 * 2)


def test_the_nature_backbone_has_the_channels_that_it_is_given() -> None:
    def widths(**options: object) -> list[int]:
        backbone = Backbone(ModelConfig(backbone="nature", hidden_size=8, **options), SHAPE)  # type: ignore[arg-type]
        return [module.out_channels for module in backbone.modules() if isinstance(module, nn.Conv2d)]

    assert widths() == [32, 64, 64]
    assert widths(nature_channels=(8, 16, 12)) == [8, 16, 12]
    with pytest.raises(ConfigError, match="--nature-channels must be at least 1, got 0"):
        ModelConfig(nature_channels=(8, 0, 8))


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_nature_backbone_that_grows_sees_what_it_saw_and_learns_in_its_new_blocks(layer_norm: bool) -> None:
    plain = Backbone(ModelConfig(backbone="nature", hidden_size=8, layer_norm=layer_norm), SHAPE)
    config = ModelConfig(backbone="nature", hidden_size=8, layer_norm=layer_norm, nature_blocks=(1, 0, 2))
    grown = Backbone(config, SHAPE)
    missing = grown.load_state_dict(plain.state_dict(), strict=False).missing_keys
    assert len({name.rsplit(".", 2)[0] for name in missing}) == 3
    assert torch.equal(grown(pictures(3)), plain(pictures(3)))
    grown(pictures(3)).sum().backward()
    blocks = [each for each in grown.modules() if isinstance(each, ResidualBlock)]
    assert [block.is_nothing for block in blocks] == [True] * 3
    with torch.no_grad():
        for block in blocks:
            assert block.conv2.weight.grad is not None
            block.conv2.weight -= block.conv2.weight.grad
    assert not any(block.is_nothing for block in blocks)
    assert not torch.equal(grown(pictures(3)), plain(pictures(3)))


def test_blocks_are_counted_from_zero() -> None:
    with pytest.raises(ConfigError, match="--nature-blocks must not be negative, got -1"):
        ModelConfig(nature_blocks=(0, -1, 0))
    with pytest.raises(ConfigError, match="--residual-blocks must not be negative, got -2"):
        ModelConfig(residual_blocks=-2)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_pictures_become_numbers_from_0_to_1_with_channels_last(channels: int, precision: torch.dtype) -> None:
    pictures = torch.randint(256, (3, channels, 10, 12), dtype=torch.uint8)
    numbers = as_input(pictures, precision)
    assert torch.equal(numbers, pictures.to(precision) * (1.0 / 255.0))
    assert numbers.is_contiguous(memory_format=torch.channels_last)


def test_pictures_too_small_for_the_backbone_are_refused() -> None:
    with pytest.raises(ConfigError, match="20x20 are too small"):
        Backbone(ModelConfig(backbone="nature"), (4, 20, 20))


@pytest.mark.parametrize(("size", "stride", "padding", "channels"), [(8, 4, 0, 4), (3, 1, 1, 4), (4, 2, 0, 1)])
def test_more_channels_change_nothing(size: int, stride: int, padding: int, channels: int) -> None:
    convolution = FirstConvolution(channels, 6, size, stride, padding).double()
    pictures = torch.randint(256, (2, channels, 16, 20), dtype=torch.uint8)
    expected = nn.Conv2d.forward(convolution, as_input(pictures, torch.float64))
    torch.testing.assert_close(convolution.over_zeros(as_input(pictures, torch.float64)), expected)
    block_size = convolution.block_size(16, 20)
    assert block_size == stride
    torch.testing.assert_close(convolution(as_input(pictures, torch.float64, block_size)), expected)


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_blocks_are_those_of_pixel_unshuffle(size: int) -> None:
    pictures = torch.randint(256, (3, 4, 24, 48), dtype=torch.uint8)
    assert torch.equal(as_blocks(pictures, size), nn.functional.pixel_unshuffle(pictures, size))
    assert torch.equal(as_blocks(pictures[1:, 1:], size), nn.functional.pixel_unshuffle(pictures[1:, 1:], size))


def test_blocks_that_do_not_fit_are_none() -> None:
    assert FirstConvolution(4, 6, 8, 4).block_size(84, 84) == 4
    assert FirstConvolution(4, 6, 8, 4).block_size(84, 90) == 1
    assert FirstConvolution(4, 6, 7, 4).block_size(84, 84) == 1
