import torch

from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.heads import NoisyLinear, factorised

N, F, A = 5, 12, 3


def noisy(is_learned: bool = True) -> NoisyLinear:
    torch.manual_seed(0)
    return NoisyLinear(F, A, gain=1.0, sigma=0.5, is_learned=is_learned)


def test_noise_equals_another_weight_matrix_for_every_environment() -> None:
    head, noise = noisy(), factorised(torch.randn(N, F + A))
    features = torch.randn(7, N, F)
    output = head(features, noise)
    for env in range(N):
        noise_in, noise_out = noise[env, :F], noise[env, F:]
        weight = head.mean.weight + head.sigma_weight * torch.outer(noise_out, noise_in)
        bias = head.mean.bias + head.sigma_bias * noise_out
        torch.testing.assert_close(output[:, env], features[:, env] @ weight.T + bias)


def test_without_noise_it_is_the_plain_layer() -> None:
    head, features = noisy(), torch.randn(N, F)
    assert torch.equal(head(features, torch.zeros(N, F + A)), head.mean(features))


def test_learned_noise_is_learned_and_saved_and_fixed_noise_is_neither() -> None:
    learned, fixed = noisy(), noisy(is_learned=False)
    torch.autograd.backward(learned(torch.randn(N, F), torch.randn(N, F + A)).sum())
    assert learned.sigma_weight.grad is not None
    assert "sigma_weight" in learned.state_dict()
    assert fixed.state_dict().keys() == {"mean.weight", "mean.bias"}
    assert len(list(fixed.parameters())) == 2


def test_noise_is_off_until_it_is_drawn_and_lasts_until_it_is_drawn_again() -> None:
    shape = (4, 36, 36)
    model = MarioActorCritic(ModelConfig(backbone="nature", noisy_linear=True, hidden_size=16), A, shape)
    picture = torch.randint(0, 256, (1, *shape), dtype=torch.uint8).expand(N, *shape)
    starts = torch.tensor([False, True, False, True, False])
    with torch.no_grad():
        quiet = model.step(picture, starts, model.initial_state(N))
        torch.testing.assert_close(quiet.logits, quiet.logits[:1].expand(N, A))
        state = model.with_noise(model.initial_state(N), torch.randn(N, model.noise_size))
        first = model.step(picture, starts, state)
        second = model.step(picture, starts, first.state)
        redrawn = model.step(picture, starts, model.with_noise(first.state, torch.randn(N, model.noise_size)))
    assert (first.logits[1:] - first.logits[:1]).abs().amin() > 0, "every environment has its own"
    assert torch.equal(first.logits, second.logits)
    assert not torch.isclose(first.logits, redrawn.logits).any()
    assert not torch.isclose(first.value, quiet.value).any(), "the critic has noise of its own"


def test_parameter_noise_leaves_the_critic_alone() -> None:
    shape = (4, 36, 36)
    model = MarioActorCritic(ModelConfig(backbone="nature", parameter_noise=0.2, hidden_size=16), A, shape)
    picture = torch.randint(0, 256, (N, *shape), dtype=torch.uint8)
    state = model.with_noise(model.initial_state(N), torch.randn(N, model.noise_size))
    with torch.no_grad():
        loud, quiet = model.step(picture, picture[:, 0, 0, 0] < 0, state), model(picture)
    assert torch.equal(loud.value, quiet.value)
    assert not torch.isclose(loud.logits, quiet.logits).any()
