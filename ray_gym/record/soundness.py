"""Checks that a recorded sample is what its spans say, before something is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def sample_problems(sample: Mapping[str, Any]) -> list[str]:
    """Returns the problems of a row of `samples`; none if it is sound.

    Its spans follow one another from the first token to the last. There is a logprob and a mask for each token. The
    loss mask is 1 exactly on the generated spans, and logprobs are 0 elsewhere.
    """
    tokens, mask, end, problems = len(sample["token_ids"]), list[int](), 0, list[str]()
    for span in sample["spans"]:
        if span["start"] != end:
            problems.append(f"a span begins at {span['start']}, not at {end}")
        end = span["end"]
        mask += [int(span["generated"])] * (end - span["start"])
    if end != tokens or len(sample["logprobs"]) != tokens:
        problems.append(f"spans to {end} and {len(sample['logprobs'])} logprobs for {tokens} tokens")
    if mask != list(sample["loss_mask"]):
        problems.append("the loss mask is not 1 exactly on the generated spans")
    if any(logprob for logprob, drawn in zip(sample["logprobs"], mask, strict=False) if not drawn):
        problems.append("there are logprobs outside of the loss mask")
    return problems
