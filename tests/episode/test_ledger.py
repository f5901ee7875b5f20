"""Checks the token ledger: each sample is one exact sequence, with a mask on exactly what was generated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.episode.ledger import Ledger, Span
from ray_gym.messages import Message
from ray_gym.models.base import Completion, Sampling, VersionSpan

PLAIN = Sampling()


def step(prompt: list[int], generated: list[int], **fields: Any) -> Completion:
    return Completion(
        Message("assistant", "x"),
        prompt_ids=np.array(prompt, dtype=np.int32),
        token_ids=np.array(generated, dtype=np.int32),
        logprobs=np.array([-token / 10 for token in generated], dtype=np.float32),
        **fields,
    )


def test_two_steps_make_one_sequence_with_its_mask_and_logprobs() -> None:
    ledger = Ledger()
    ledger.add(step([1, 2, 3], [4, 5]), [], 0, PLAIN)
    ledger.add(step([6], [7, 8]), [], 1, PLAIN)
    (sample,) = ledger.samples
    assert sample.token_ids.tolist() == ledger.history.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert sample.token_ids.dtype == np.int32
    assert sample.loss_mask.tolist() == [0, 0, 0, 1, 1, 0, 1, 1]
    assert sample.logprobs == pytest.approx([0, 0, 0, -0.4, -0.5, 0, -0.7, -0.8])
    assert sample.fork_reason is None


def test_spans_give_every_new_message_its_tokens_and_the_rest_to_the_event_that_they_opened() -> None:
    ledger = Ledger()
    ledger.add(
        step([1, 2, 3, 4], [5, 6], prompt_lengths=(2, 0, 1), kind="constrained", grammar="g"), [10, 11, 12], 13, PLAIN
    )
    hot = Sampling(temperature=2.0)
    ledger.add(step([7, 8], [9], prompt_lengths=(1,)), [14], 15, hot)
    assert ledger.samples[0].spans == [
        Span(10, 0, 2, generated=False),
        Span(12, 2, 3, generated=False),
        Span(13, 3, 4, generated=False),
        Span(13, 4, 6, True, PLAIN, "constrained", "g"),
        Span(14, 6, 7, generated=False),
        Span(15, 7, 8, generated=False),
        Span(15, 8, 9, True, hot, "plain", None),
    ]


def test_a_thread_goes_on_under_other_weights_and_every_token_keeps_its_version() -> None:
    """Earlier turns came from one version, an answer from two (an update in its middle), the last from the second alone."""
    ledger = Ledger()
    ledger.add(step([1, 2], [3, 4], versions=(VersionSpan(0, 0, 2),)), [], 0, PLAIN)
    ledger.add(step([5], [6, 7, 8], versions=(VersionSpan(0, 0, 1), VersionSpan(1, 1, 3))), [], 1, PLAIN)
    ledger.add(step([9], [10], versions=(VersionSpan(1, 0, 1),)), [], 2, PLAIN)
    (sample,) = ledger.samples
    versions = {position: span.version for span in sample.versions for position in range(span.start, span.end)}
    assert versions == {2: 0, 3: 0, 5: 0, 6: 1, 7: 1, 9: 1}
    assert sorted(versions) == np.flatnonzero(sample.loss_mask).tolist()


def test_versions_count_from_the_start_of_the_sample() -> None:
    ledger = Ledger()
    ledger.add(step([1, 2], [3, 4, 5], versions=(VersionSpan(1, 0, 2), VersionSpan(2, 2, 3))), [], 0, PLAIN)
    ledger.add(step([6], [7], versions=(VersionSpan(2, 0, 1),)), [], 1, PLAIN)
    assert ledger.samples[0].versions == [VersionSpan(1, 2, 4), VersionSpan(2, 4, 5), VersionSpan(2, 6, 7)]


def test_a_fork_keeps_the_old_sample_as_it_was() -> None:
    ledger = Ledger()
    ledger.add(step([1, 2], [3]), [], 0, PLAIN)
    ledger.add(step([1, 9, 4], [5], fork_reason="edited_history"), [], 1, PLAIN)
    ledger.add(step([6], [7]), [], 2, PLAIN)
    first, second = ledger.samples
    assert (first.token_ids.tolist(), first.loss_mask.tolist(), first.fork_reason) == ([1, 2, 3], [0, 0, 1], None)
    assert second.token_ids.tolist() == ledger.history.tolist() == [1, 9, 4, 5, 6, 7]
    assert second.loss_mask.tolist() == [0, 0, 0, 1, 0, 1]
    assert second.fork_reason == "edited_history"


def test_arrays_that_do_not_fit_together_raise_and_change_nothing() -> None:
    ledger = Ledger()
    ledger.add(step([1], [2]), [], 0, PLAIN)
    broken = step([3], [4, 5])
    broken.logprobs = broken.logprobs[:1]
    with pytest.raises(ValueError, match="2 generated ids but 1 logprobs"):
        ledger.add(broken, [], 1, PLAIN)
    assert ledger.history.tolist() == [1, 2] and len(ledger.samples) == 1


def test_a_completion_without_ids_invents_none() -> None:
    ledger = Ledger()
    ledger.add(Completion(Message("assistant", "hello")), [1], 2, PLAIN)
    assert ledger.samples == [] and len(ledger.history) == 0


def test_after_a_generation_without_ids_the_next_sample_begins_anew() -> None:
    ledger = Ledger()
    ledger.add(step([1], [2]), [], 0, PLAIN)
    ledger.add(Completion(Message("assistant", "hello")), [], 1, PLAIN)
    assert ledger.history.tolist() == []
    ledger.add(step([1, 2, 8, 9], [3]), [], 2, PLAIN)
    assert [sample.token_ids.tolist() for sample in ledger.samples] == [[1, 2], [1, 2, 8, 9, 3]]
    assert [sample.fork_reason for sample in ledger.samples] == [None, "token_ids_missing"]
    assert ledger.samples[1].loss_mask.tolist() == [0, 0, 0, 0, 1], "what this thread said before is prompt here"


ids = st.lists(st.integers(1, 50), max_size=6)


@given(st.lists(st.tuples(ids, ids, st.booleans()), min_size=1, max_size=12))
def test_prompts_and_generations_in_order_are_the_sample(steps: list[tuple[list[int], list[int], bool]]) -> None:
    """Every sample holds its own steps, also across forks, and its mask is on exactly its generated ids."""
    ledger = Ledger()
    expected: list[list[tuple[int, int]]] = []  # (id, mask) by sample
    begin_anew = True
    for seq, (prompt, generated, fork) in enumerate(steps):
        if prompt or generated:
            fork = fork and bool(expected)
            if fork or begin_anew:
                expected.append([])
            expected[-1] += [(token, 0) for token in prompt] + [(token, 1) for token in generated]
        begin_anew = not (prompt or generated)
        ledger.add(step(prompt, generated, fork_reason="edited_history" if fork else None), [], seq, PLAIN)
        assert ledger.history.tolist() == ([] if begin_anew else [token for token, _ in expected[-1]])
    assert len(ledger.samples) == len(expected)
    for sample, tokens in zip(ledger.samples, expected, strict=True):
        assert list(zip(sample.token_ids.tolist(), sample.loss_mask.tolist(), strict=True)) == tokens
        assert all(bool(logprob) == bool(mask) for logprob, mask in zip(sample.logprobs, sample.loss_mask, strict=True))
        covered = [position for span in sample.spans for position in range(span.start, span.end)]
        assert covered == list(range(len(tokens))), "the spans tile the sample"
