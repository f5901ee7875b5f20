"""Tokens of old weights don't train, and the rest of their group does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from test_sample_advantages import episode, group_of, sample

from ray_gym.advantages import group_mean
from ray_gym.models.versions import Versions
from ray_gym.stream.withholding import withhold

torch = pytest.importorskip("torch")

VERSIONS = [{"version": 1, "start": 1, "end": 2}, {"version": 2, "start": 2, "end": 3}]


def table(*samples: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{**sample(), "model": "policy", **one} for one in samples])


def test_only_the_old_tokens_are_withheld_and_counted() -> None:
    given = table({"versions": VERSIONS}, {}, {"versions": VERSIONS, "trainable": False})
    made = withhold(given.slice(0), Versions(2))
    assert made.column("loss_mask").to_pylist() == [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    assert made.column("withheld_tokens").to_pylist() == [1, 0, 1]
    assert made.column("trainable").to_pylist() == [True, True, False]
    assert withhold(given.slice(1), Versions(2)).column("withheld_tokens").to_pylist() == [0, 1], (
        "a slice begins elsewhere"
    )


def test_a_sample_without_a_token_left_is_not_trainable() -> None:
    made = withhold(table({"versions": VERSIONS}), Versions(3))
    assert made.column("loss_mask").to_pylist() == [[0, 0, 0]] and made.column("trainable").to_pylist() == [False]
    assert made.column("withheld_tokens").to_pylist() == [2]


def test_each_model_has_an_age_of_its_own() -> None:
    both = table({"versions": VERSIONS, "model": "policy"}, {"versions": VERSIONS, "model": "user"})
    made = withhold(both, Versions(0, {"policy": 2, "user": 1}))
    assert made.column("withheld_tokens").to_pylist() == [1, 0]


def test_without_a_bound_nothing_is_withheld() -> None:
    made = withhold(table({"versions": VERSIONS}), None)
    assert made.column("loss_mask").to_pylist() == [[0, 1, 1]] and made.column("withheld_tokens").to_pylist() == [0]


def test_the_gradient_is_the_full_batchs_with_these_tokens_terms_taken_out() -> None:
    """The loss is a sum over tokens of -ratio * advantage over the recorded number of generated tokens."""
    old = [
        sample(versions=VERSIONS),
        sample(fork_reason="edited_history", versions=[*VERSIONS[:1], {**VERSIONS[1], "version": 1}]),
    ]
    full = group_of(episode("a", "g", old, 1.0), episode("b", "g", [sample()], 0.0))
    kept = type(full)(full.number, full.group_id, full.task_id, full.version, full.episodes, oldest_kept=Versions(2))

    def gradient(made: Any, rows: dict[int, int], normaliser: int) -> Any:
        logits = torch.zeros(3, 3, 8, dtype=torch.float64, requires_grad=True)
        for row, of in enumerate(made.rows):
            logprobs = logits[rows[of]].log_softmax(-1).gather(-1, made.token_ids[row][:, None])[:, 0]
            ratio = (logprobs - made.logprobs[row]).exp()
            (-(ratio * made.advantages[row] * made.loss_mask[row]).sum() / normaliser).backward(retain_graph=True)
        return logits.grad

    samples = kept.samples
    recorded = sum(map(sum, full.samples.column("loss_mask").to_pylist()))
    still = sum(map(sum, samples.column("loss_mask").to_pylist()))
    assert recorded == still + sum(samples.column("withheld_tokens").to_pylist()) == still + 3
    assert kept.advantages(group_mean).tolist() == [0.5, 0, -0.5], (
        "a sample without tokens has no advantage left to use"
    )
    made = kept.tensors(group_mean)
    assert (int(made.loss_mask.sum()), made.withheld_tokens) == (still, 3), "they make the number of the full batch"
    whole = gradient(full.tensors(group_mean), {0: 0, 1: 1, 2: 2}, recorded)
    partly = gradient(kept.tensors(group_mean), {0: 0, 1: 1, 2: 2}, recorded)
    expected = whole.clone()
    expected[0, 1], expected[1, 1:] = 0, 0
    assert torch.equal(partly, expected)
