"""Finds the tokens of each answer of a participant: the prompt that its model was given, and what that generated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ray_gym.export.finished import Row

FORKED = "answers in a sample that does not continue the one before (a fork)"
"""Note on answers."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Holds the tokens of one answer."""

    prompt_ids: list[int]
    """All tokens that the model was given: int [p]."""
    token_ids: list[int]
    """Tokens that it generated: int [n]."""
    logprobs: list[float]
    """Their recorded logprobs: float [n]."""
    loss_mask: list[int]
    """1 for each generated token that a trainer may train on: int [n]."""
    sample: int
    """Index of the sample in its row."""
    about: dict[str, Any]
    """Fork, weight versions, and how the tokens were sampled."""


def generated(samples: Iterable[tuple[int, dict[str, Any]]]) -> dict[int, Generated]:
    """Returns the tokens of each answer by the number of its event. `samples`: indices and samples of an episode. Each
    answer is generated in one sample; in a later one it is prompt.
    """
    return {
        span["event_seq"]: _generated(number, sample, span["start"], span["end"], span)
        for number, sample in samples
        for span in sample["spans"]
        if span["generated"]
    }


def own_samples(row: Row, participant: str) -> list[tuple[int, dict[str, Any]]]:
    """Returns the indices and the samples of a participant's own thread, without those with a logprob that is not
    finite.
    """
    return [
        (number, sample)
        for number, sample in enumerate(row["samples"])
        if sample["thread"] == participant and all(map(math.isfinite, sample["logprobs"]))
    ]


def _generated(number: int, sample: dict[str, Any], start: int, end: int, span: dict[str, Any]) -> Generated:
    versions = {one["version"] for one in sample["versions"] if one["start"] < end and start < one["end"]}
    return Generated(
        prompt_ids=sample["token_ids"][:start],
        token_ids=sample["token_ids"][start:end],
        logprobs=sample["logprobs"][start:end],
        loss_mask=sample["loss_mask"][start:end],
        sample=number,
        about={
            "sample": number,
            "fork_reason": sample["fork_reason"],
            "weight_versions": sorted(versions),
            "logprobs": span["kind"] or "plain",
            "sampling": span["sampling"],
        },
    )
