"""Selects the samples of an episode that a trainer can use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ray_gym.export.conversation import POLICY
from ray_gym.export.finished import Row
from ray_gym.export.selection import Counts

NO_SAMPLES = "episodes without samples to train on (models that give no token ids have none)"
NOTHING_GENERATED = "samples in which nothing was generated"
NOT_FINITE = "samples with a log probability that is not finite"
NO_REWARD = "samples of participants without a reward of their own"
UNTRAINED = "samples of participants that are not trained"


def usable_samples(row: Row, counts: Counts, participant: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the index and the sample of each trainable sample of an episode. `participant`: only its samples; None for
    all. Samples that are left out, and episodes without trainable ones, are counted in `counts`.
    """
    own = [
        (number, sample) for number, sample in enumerate(row["samples"]) if participant in (None, sample["participant"])
    ]
    trainable = [(number, sample) for number, sample in own if sample["trainable"]]
    if not trainable:
        counts.left_out[_why_none([sample for _, sample in own], participant or POLICY)] += 1
    for number, sample in trainable:
        if reason := _reason(sample):
            counts.left_out[reason] += 1
        else:
            yield number, sample


def _why_none(samples: Sequence[dict[str, Any]], participant: str) -> str:
    """Returns the reason for which an episode with some samples, of which none is trainable, is left out: that of one
    which its model spoilt before that of one which nobody would train. `participant`: that of which samples are expected;
    those of others tell nothing of it.
    """
    reasons = {_reason(sample) or UNTRAINED for sample in samples if sample["participant"] == participant}
    if not reasons:
        return NO_SAMPLES
    told = next(reason for reason in (NOTHING_GENERATED, NOT_FINITE, NO_REWARD, UNTRAINED) if reason in reasons)
    return f"episodes with {told}, and none to train on"


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
