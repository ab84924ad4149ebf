import torch

from mario_a3c.algorithms.losses import (
    clipped_policy_loss,
    clipped_value_loss,
    entropy,
    evenness,
    kl_of_step,
    log_prob_of,
    policy_gradient_loss,
    value_loss,
)


def gradient_of(loss: torch.Tensor, parameters: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(loss.mean(), parameters)[0]


def test_one_pass_and_clipped_passes_have_the_same_gradient_on_policy() -> None:
    torch.manual_seed(0)
    logits = torch.randn(7, 5, 4, requires_grad=True)
    actions, advantages = torch.randint(4, (7, 5)), torch.randn(7, 5)
    log_probs = log_prob_of(logits.log_softmax(-1), actions)
    log_rhos = log_probs - log_probs.detach()
    one_pass = gradient_of(policy_gradient_loss(log_probs, log_rhos, advantages, clip_rho=1.0), logits)
    log_probs = log_prob_of(logits.log_softmax(-1), actions)
    clipped = gradient_of(clipped_policy_loss(log_probs - log_probs.detach(), advantages, clip_range=0.2), logits)
    torch.testing.assert_close(one_pass, clipped)


def test_the_policy_gradient_weighs_by_the_clipped_ratio_and_not_through_it() -> None:
    log_probs = torch.tensor([-1.0, -1.0], requires_grad=True)
    log_rhos = log_probs - torch.tensor([-3.0, 0.0])  # ratios e^2, clipped to 1, and e^-1
    gradient = gradient_of(policy_gradient_loss(log_probs, log_rhos, torch.ones(2), clip_rho=1.0), log_probs)
    torch.testing.assert_close(gradient, -torch.tensor([1.0, torch.e**-1]) / 2)


def test_a_ratio_beyond_its_range_is_pulled_back_and_never_pushed_further() -> None:
    log_rhos = torch.tensor([0.5, 0.5, -0.5, -0.5], requires_grad=True)
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    gradient = gradient_of(clipped_policy_loss(log_rhos, advantages, clip_range=0.2), log_rhos)
    assert gradient[0] == 0
    assert gradient[3] == 0
    assert gradient[1] > 0
    assert gradient[2] < 0


def test_a_clipped_value_loss_is_never_smaller_than_the_plain_one() -> None:
    torch.manual_seed(1)
    values, targets, old = torch.randn(3, 200)
    clipped = clipped_value_loss(values, targets, old, clip_range=0.2)
    assert (clipped >= value_loss(values, targets)).all()
    assert (clipped > value_loss(values, targets)).any()


def test_entropy_and_divergence_of_known_policies() -> None:
    uniform, certain = torch.zeros(4).log_softmax(-1), torch.tensor([0.0, -1e9, -1e9, -1e9]).log_softmax(-1)
    torch.testing.assert_close(entropy(uniform), torch.tensor(4.0).log())
    assert entropy(certain) == 0
    assert kl_of_step(torch.tensor([0.0, 0.3, -0.3])).tolist()[0] == 0
    assert (kl_of_step(torch.tensor([0.3, -0.3])) > 0).all()


def test_what_is_almost_impossible_is_lifted_by_evenness_and_not_by_entropy() -> None:
    logits = torch.tensor([20.0, 0.0, 0.0, 0.0], requires_grad=True)
    lifted = gradient_of(evenness(logits.log_softmax(-1)), logits)
    torch.testing.assert_close(lifted[1:], torch.full((3,), 0.25), atol=1e-6, rtol=0)
    assert (gradient_of(entropy(logits.log_softmax(-1)), logits)[1:].abs() < 1e-6).all()
    even = torch.zeros(4, requires_grad=True)
    assert gradient_of(evenness(even.log_softmax(-1)), even).abs().max() < 1e-7
