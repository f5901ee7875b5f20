"""Breaks one thing on purpose, to show that a run with it fails a check or does not learn (docs/grpo.md)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any

import torch


class Sabotage(StrEnum):
    """Names what is broken."""

    shifted_mask = "shifted_mask"
    """Loss masks are one token late."""
    wrong_temperature = "wrong_temperature"
    """The engine draws at temperature 0.7, and the trainer takes it for 1."""
    permuted_advantages = "permuted_advantages"
    """Each sample has the advantage of another one of its batch."""


COLD = 0.7


def overrides(sabotage: Sabotage | None) -> list[str]:
    """Returns what a sabotage changes in the config of the rollouts."""
    return [f"participants.policy.sampling.temperature={COLD}"] if sabotage is Sabotage.wrong_temperature else []


def spoil(batch: Any, sabotage: Sabotage | None, step: int) -> Any:
    """Returns the tensors of a batch, spoilt. `step`: seeds what is drawn for it."""
    if sabotage is Sabotage.shifted_mask:
        mask = batch.loss_mask.roll(1, dims=1) & batch.attention_mask
        mask[:, 0] = False
        return replace(batch, loss_mask=mask, versions=batch.versions.clamp(min=0))
    if sabotage is Sabotage.permuted_advantages:
        order = torch.randperm(len(batch.advantages), generator=torch.Generator().manual_seed(step))
        return replace(batch, advantages=batch.advantages[order])
    return batch
