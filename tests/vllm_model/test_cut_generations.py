"""A generation that an update cuts: what was said, and what is asked for then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deployments.vllm.said import NOTHING, Said, may_go_on, rest
from deployments.vllm.token_engine import GenerationRequest, Grammar
from ray_gym.models.base import Sampling, VersionSpan


def said(count: int, *versions: tuple[int, int, int], first: int = 0, cached: int = 0) -> Said:
    ids = np.arange(first, first + count, dtype=np.int32)
    return Said(ids, -ids.astype(np.float32), tuple(VersionSpan(*span) for span in versions), cached)


def request(grammar: Grammar | None = None, **sampling: Any) -> GenerationRequest:
    return GenerationRequest([7, 8], Sampling(**sampling), 10, "session", grammar)


def test_parts_are_one_answer_and_their_versions_follow_each_other() -> None:
    whole = NOTHING.then(said(3, (0, 0, 3), cached=5)).then(said(2, (1, 0, 2), first=3, cached=9))
    assert whole.token_ids.tolist() == [0, 1, 2, 3, 4] and whole.logprobs.tolist() == [0, -1, -2, -3, -4]
    assert whole.versions == (VersionSpan(0, 0, 3), VersionSpan(1, 3, 5)) and whole.cached_tokens == 5


def test_a_cut_that_changed_nothing_leaves_no_trace() -> None:
    """As after an update that failed."""
    whole = said(3, (0, 0, 3)).then(said(2, (0, 0, 2), first=3))
    assert whole.versions == (VersionSpan(0, 0, 5),)


def test_the_rest_is_asked_for_after_what_was_said() -> None:
    asked = rest(request(), said(3, (0, 0, 3)))
    assert asked.prompt_ids == [7, 8, 0, 1, 2] and asked.max_tokens == 7
    assert rest(request(), NOTHING) == request()


@pytest.mark.parametrize(
    ("asked", "goes_on"),
    [
        (request(), True),
        (request(temperature=0.5, top_p=0.9, repetition_penalty=1.1), True),
        (request(presence_penalty=0.5), False),
        (request(frequency_penalty=0.5), False),
        (request(stop=("x",)), False),
        (request(seed=1), False),
        (request(Grammar("json", "{}")), False),
    ],
)
def test_it_goes_on_only_if_the_rest_is_drawn_as_it_would_have_been(asked: GenerationRequest, goes_on: bool) -> None:
    assert may_go_on(asked) == goes_on
