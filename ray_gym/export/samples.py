"""Selects the samples of an episode that a trainer can use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ray_gym.export.finished import Row
from ray_gym.export.selection import Counts

NO_SAMPLES = "episodes without samples to train on (models that give no token ids have none)"
NOTHING_GENERATED = "samples in which nothing was generated"
NOT_FINITE = "samples with a log probability that is not finite"
NO_REWARD = "samples of participants without a reward of their own"


def usable_samples(row: Row, counts: Counts, participant: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the index and the sample of each trainable sample of an episode. `participant`: only its samples; None for
    all. Samples that are left out, and episodes without trainable ones, are counted in `counts`.
    """
    trainable = [
        (number, sample)
        for number, sample in enumerate(row["samples"])
        if sample["trainable"] and participant in (None, sample["participant"])
    ]
    counts.left_out[NO_SAMPLES] += not trainable
    for number, sample in trainable:
        if reason := _reason(sample):
            counts.left_out[reason] += 1
        else:
            yield number, sample


def _reason(sample: dict[str, Any]) -> str | None:
    """Returns the reason for which a sample is left out; None if it is not. Records of before version 3 may call samples
    trainable that are not.
    """
    if sample["reward"] is None:
        return NO_REWARD
    if not any(sample["loss_mask"]):
        return NOTHING_GENERATED
    if not all(map(math.isfinite, sample["logprobs"])):
        return NOT_FINITE
    return None
