"""A sample must be what its spans say."""

from __future__ import annotations

from typing import Any

from ray_gym.record.soundness import sample_problems

PROMPT, DRAWN = {"start": 0, "end": 2, "generated": False}, {"start": 2, "end": 4, "generated": True}


def problems(**changes: Any) -> str:
    sample = {
        "token_ids": [5, 6, 7, 8],
        "loss_mask": [0, 0, 1, 1],
        "logprobs": [0, 0, -1, -1],
        "spans": [PROMPT, DRAWN],
    }
    return str(sample_problems({**sample, **changes}))


def test_a_sound_sample_has_no_problems() -> None:
    assert problems() == "[]"


def test_a_loss_mask_lies_on_the_generated_spans() -> None:
    assert "loss mask" in problems(loss_mask=[0, 1, 1, 1])
    assert "loss mask" in problems(loss_mask=[0, 0, 0, 1])
    assert "outside" in problems(logprobs=[0, -1, -1, -1])


def test_spans_follow_one_another_from_the_first_token_to_the_last() -> None:
    assert "a span begins at 2, not at 0" in problems(spans=[DRAWN])
    assert "a span begins at 1, not at 2" in problems(spans=[PROMPT, {**DRAWN, "start": 1}])
    assert "spans to 2 and 4 logprobs for 4 tokens" in problems(spans=[PROMPT])
    assert "3 logprobs" in problems(logprobs=[0, 0, -1])
