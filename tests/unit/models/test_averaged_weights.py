import pytest
import torch

from mario_a3c.errors import ConfigError
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.averaged_weights import AveragedWeights
from mario_a3c.models.config import ModelConfig


def make_model() -> MarioActorCritic:
    torch.manual_seed(0)
    return MarioActorCritic(ModelConfig(backbone="nature", hidden_size=8), 3, (4, 36, 36))


def set_bias(model: MarioActorCritic, value: float) -> None:
    torch.nn.init.constant_(model.backbone.fc.bias, value)


def averaged_bias(average: AveragedWeights) -> float:
    target = make_model()
    average.copy_to(target)
    assert len(set(target.backbone.fc.bias.tolist())) == 1
    return float(target.backbone.fc.bias[0].detach())


def test_it_is_a_mean_at_first_and_then_forgets_exponentially() -> None:
    model = make_model()
    average = AveragedWeights(model, decay=0.75)
    seen = []
    for value in (1.0, 2.0, 3.0, 4.0, 8.0):
        set_bias(model, value)
        average.update(model)
        seen.append(averaged_bias(average))
    assert seen == pytest.approx([1.0, 1.5, 2.0, 2.5, 0.75 * 2.5 + 0.25 * 8.0])


def test_it_goes_on_as_if_it_had_not_stopped() -> None:
    model = make_model()
    one, other = AveragedWeights(model, 0.9), AveragedWeights(make_model(), 0.9)
    for value in (1.0, 5.0):
        set_bias(model, value)
        one.update(model)
    other.restore(one.state())
    set_bias(model, -3.0)
    for average in (one, other):
        average.update(model)
    assert averaged_bias(one) == averaged_bias(other)


@pytest.mark.parametrize("decay", [-0.1, 1.0])
def test_a_decay_that_never_forgets_or_has_no_meaning_is_refused(decay: float) -> None:
    with pytest.raises(ConfigError, match="decay"):
        AveragedWeights(make_model(), decay)
