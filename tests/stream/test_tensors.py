"""Tensors hold the trainable samples, padded or packed, aligned as the record is."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ray_gym.errors import UserError
from ray_gym.stream.tensors import NO_VERSION, tensors_of

torch = pytest.importorskip("torch")


def table(*samples: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{"trainable": True, "reward": 0.5, **sample} for sample in samples])


def sample(ids: list[int], drawn: int, **fields: Any) -> dict[str, Any]:
    """Makes a sample whose last `drawn` tokens were generated, the last one of them with later weights."""
    start, end = len(ids) - drawn, len(ids)
    versions = [{"version": 1, "start": start, "end": end - 1}, {"version": 2, "start": end - 1, "end": end}]
    mask = [0] * start + [1] * drawn
    return {"token_ids": ids, "loss_mask": mask, "logprobs": [-float(m) for m in mask], "versions": versions, **fields}


LONG, SHORT = sample([1, 2, 3, 4, 5], 2), sample([6, 7], 1, reward=-1.0)
OUT = sample([9, 9, 9, 9, 9, 9, 9], 3, trainable=False)
ADVANTAGES = np.array([0.25, 9.0, -0.25])


def test_padded() -> None:
    made = tensors_of(table(LONG, OUT, SHORT), ADVANTAGES, pad=99, multiple_of=4)
    assert made.token_ids.tolist() == [[1, 2, 3, 4, 5, 99, 99, 99], [6, 7, 99, 99, 99, 99, 99, 99]]
    assert made.attention_mask.sum(1).tolist() == [5, 2]
    assert made.loss_mask.nonzero().tolist() == [[0, 3], [0, 4], [1, 1]]
    assert made.logprobs.tolist() == [[0, 0, 0, -1, -1, 0, 0, 0], [0, -1, 0, 0, 0, 0, 0, 0]]
    assert made.versions[0].tolist() == [NO_VERSION] * 3 + [1, 2] + [NO_VERSION] * 3
    assert made.position_ids[1].tolist()[:2] == [0, 1]
    assert made.advantages.tolist() == [0.25, -0.25] and made.rewards.tolist() == [0.5, -1]
    assert made.rows == (0, 2)
    assert (made.token_ids.dtype, made.logprobs.dtype, made.loss_mask.dtype) == (torch.int64, torch.float32, torch.bool)


def test_packed() -> None:
    made = tensors_of(table(LONG, OUT, SHORT), ADVANTAGES, pad=None, multiple_of=4)
    assert made.token_ids.tolist() == [[1, 2, 3, 4, 5, 6, 7, 0]]
    assert made.starts.tolist() == [0, 5, 7] and made.starts.dtype == torch.int32
    assert made.position_ids.tolist() == [[0, 1, 2, 3, 4, 0, 1, 0]]
    assert made.sample_of.tolist()[0][:7] == [0] * 5 + [1] * 2
    assert made.advantages[made.sample_of[made.loss_mask]].tolist() == [0.25, 0.25, -0.25]


def test_both_hold_the_same_tokens() -> None:
    padded, packed = (tensors_of(table(LONG, SHORT), ADVANTAGES[:2], pad=pad) for pad in (0, None))
    for field in ("token_ids", "logprobs", "versions", "position_ids"):
        values = [getattr(made, field)[made.attention_mask].tolist() for made in (padded, packed)]
        assert values[0] == values[1], field


def test_a_batch_without_a_trainable_sample_is_refused() -> None:
    with pytest.raises(UserError, match="no sample is trainable"):
        tensors_of(table(OUT), np.zeros(1))


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match="pip install torch"):
        tensors_of(table(SHORT), np.zeros(1))
