"""Checks that the batch which tests of bridges share is as its docstring says."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
from handmade import FAILED, GROUPS, REPEATS, handmade_groups, handmade_rows, logprobs_of, tiny_model, tiny_tokenizer


def test_the_batch_has_what_bridges_stumble_over() -> None:
    groups = handmade_groups(tiny_model())
    assert [group.episodes.num_rows for group in groups] == [REPEATS] * GROUPS
    for group in groups:
        rows = group.samples.to_pylist()
        assert sum(row["fork_reason"] is not None for row in rows) == 1
        assert any(str(row["loss_mask"]).count("1, 0") for row in rows), "masks interleave"
        assert set(group.episodes.column("reward").to_pylist()) >= {0.0, 1.0}
    failed = [row for group in groups for row in group.episodes.to_pylist() if row["status"] == "failed"]
    assert [row["episode_id"] for row in failed] == [FAILED]


def test_the_recorded_logprobs_are_those_of_the_model() -> None:
    model = tiny_model()
    for row in handmade_rows(model):
        for sample in row["samples"]:
            own = logprobs_of(model, sample["token_ids"])
            for recorded, computed, drawn in zip(sample["logprobs"], own, sample["loss_mask"], strict=True):
                assert recorded == (pytest.approx(computed, abs=1e-6) if drawn else 0)


def test_the_tokenizer_takes_text_there_and_back() -> None:
    tokenizer = tiny_tokenizer()
    assert (
        tokenizer.decode(tokenizer("<|im_start|>user\nSay é!<|im_end|>")["input_ids"])
        == "<|im_start|>user\nSay é!<|im_end|>"
    )
