"""Checks the loss of the example trainer against sums by hand, and its gradients against what the paper says of them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from examples.grpo.loss import Distributions, clipped_loss, distributions  # noqa: E402


class Fixed:
    """Stands for a model: gives logits that are a parameter, whatever it reads."""

    def __init__(self, logits: list[list[list[float]]]) -> None:
        self.logits = torch.tensor(logits, requires_grad=True)

    def __call__(self, input_ids: object) -> SimpleNamespace:
        return SimpleNamespace(logits=self.logits)


def test_a_tokens_logprob_is_that_of_the_place_before_it() -> None:
    model = Fixed([[[0.0, math.log(3)], [math.log(7), 0.0], [9.0, 9.0]]])
    found = distributions(model, torch.tensor([[0, 1, 0]]), torch.tensor([[False, True, True]]), 1.0)
    assert found.of_chosen.exp().tolist() == pytest.approx([3 / 4, 7 / 8])


def test_logits_are_divided_by_the_temperature() -> None:
    model = Fixed([[[0.0, math.log(3)], [0.0, 0.0]]])
    found = distributions(model, torch.tensor([[0, 1]]), torch.tensor([[False, True]]), 0.5)
    assert found.of_chosen.exp().tolist() == pytest.approx([9 / 10])


def test_entropy_and_divergence_are_over_the_whole_vocabulary() -> None:
    half = Distributions(torch.log(torch.tensor([[0.5, 0.5]])), torch.tensor([0]))
    quarter = Distributions(torch.log(torch.tensor([[0.25, 0.75]])), torch.tensor([0]))
    assert half.entropy.item() == pytest.approx(math.log(2))
    assert half.divergence(quarter).item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert half.divergence(half).item() == 0


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.5, 2.0, -2.56, 0.0),  # too far up with a good advantage: held at 1.28
        (0.5, 2.0, -1.0, -2.0),  # it may come back
        (0.5, -2.0, 1.6, 0.0),  # too far down with a bad one: held at 0.8
        (1.5, -2.0, 3.0, 2.0),
        (1.1, -1.0, 1.1, 1.0),
    ],
)
def test_the_loss_and_its_slope(ratio: float, advantage: float, loss: float, slope: float) -> None:
    given = torch.tensor([ratio], requires_grad=True)
    found = clipped_loss(given, torch.tensor([advantage]), low=0.2, high=0.28)
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert given.grad.item() == pytest.approx(slope)


def test_at_a_ratio_of_one_the_gradient_is_that_of_the_policy_gradient() -> None:
    model, ids, mask = Fixed([[[0.3, -0.2], [0.1, 0.4], [0.0, 0.0]]]), torch.tensor([[0, 1, 0]]), [[False, True, True]]
    advantages = torch.tensor([1.5, -0.5])
    now = distributions(model, ids, torch.tensor(mask), 1.0).of_chosen
    clipped_loss((now - now.detach()).exp(), advantages, 0.2, 0.28).sum().backward()
    expected = torch.zeros(1, 3, 2)
    for place, (token, advantage) in enumerate(zip((1, 0), advantages, strict=True)):
        probabilities = torch.softmax(model.logits[0, place].detach(), -1)
        expected[0, place] = -advantage * (torch.eye(2)[token] - probabilities)
    assert torch.allclose(model.logits.grad, expected, atol=1e-6)
