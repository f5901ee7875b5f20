"""Computes GRPO's loss of tokens. Nothing here knows of ray_gym."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Distributions:
    """Holds a model's distributions at the places of a batch's chosen tokens, in the order of rows and positions."""

    logprobs: Tensor
    """Log probabilities of the whole vocabulary: float32 [tokens, vocabulary]."""
    chosen: Tensor
    """Token ids that follow: int64 [tokens]."""

    @property
    def of_chosen(self) -> Tensor:
        """Returns the logprob of each chosen token: float32 [tokens]."""
        return self.logprobs.gather(1, self.chosen[:, None])[:, 0]

    @property
    def entropy(self) -> Tensor:
        """Returns the entropy of each distribution, in nats: float32 [tokens]."""
        return -(self.logprobs.exp() * self.logprobs).sum(-1)

    def divergence(self, start: Distributions) -> Tensor:
        """Returns KL(these || start) at each place, in nats, over the whole vocabulary: float32 [tokens]."""
        return (self.logprobs.exp() * (self.logprobs - start.logprobs)).sum(-1)


def distributions(model: Any, token_ids: Tensor, mask: Tensor, temperature: float) -> Distributions:
    """Runs a causal model, and returns its distributions at the tokens where `mask` is True.

    `token_ids`, `mask`: int64 and bool [rows, tokens], padded on the right, where a causal model does not look. The
    logits at t - 1 are those of token t, so a row's first token has none and can't be masked in.
    """
    logits = model(input_ids=token_ids).logits[:, :-1]
    at = mask[:, 1:]
    return Distributions(torch.log_softmax(logits[at].float() / temperature, -1), token_ids[:, 1:][at])


def clipped_loss(ratios: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    """Returns the loss of each token: float32 [tokens] (Schulman et al. 2017, PPO, section 3).

    `ratios`: new over recorded probability. `advantages`: one for each token. A ratio outside of [1 - low, 1 + high]
    has no gradient if the update moves it further out. A wider upper bound is DAPO's (Yu et al. 2025, section 3.1).
    """
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)
