"""Checks the forms of whole rows and of tokens: nothing is lost, and forks are lines of their own."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from shown_runs import episode, sample, write
from small_runs import GAMES, played_run, rows_of
from written_forms import written

from ray_gym.errors import UserError
from ray_gym.export.filters import Filters
from ray_gym.export.jsonl import Jsonl, row_of
from ray_gym.export.redaction import CHANGED, Redaction
from ray_gym.export.samples import NO_SAMPLES, UNTRAINED, usable_samples
from ray_gym.export.secrets import Secrets
from ray_gym.export.selection import Counts
from ray_gym.export.token_sets import FORKED, NOT_TRAINED
from ray_gym.export.writing import encode
from ray_gym.record.schema import as_table


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return asyncio.run(played_run(tmp_path, GAMES, forks_at=1))


def test_rows_as_json_are_the_record(games: Path, tmp_path: Path) -> None:
    lines, counts = written(games, tmp_path / "out.jsonl", "jsonl")
    rows = list(rows_of(games))
    assert as_table(lines).equals(as_table(rows)) and counts.written == 24


def test_rows_of_every_status_are_written_unless_one_is_asked_for(games: Path, tmp_path: Path) -> None:
    part = sorted((games / "episodes").glob("*.parquet"))[0]
    table = pq.read_table(part)
    rows = table.to_pylist()
    rows[0] |= {"status": "failed", "reward": None}
    pq.write_table(table.from_pylist(rows, schema=table.schema), part)
    lines, _ = written(games, tmp_path / "out.jsonl", "jsonl")
    assert Counter(line["status"] for line in lines) == {"completed": 23, "failed": 1}
    [line], counts = written(games, tmp_path / "out.jsonl", "jsonl", filters=Filters(["failed"]))
    assert line["episode_id"] == rows[0]["episode_id"]
    assert counts.left_out == {"episodes with the status completed": 23}


def test_numbers_and_bytes_that_json_lacks_are_texts() -> None:
    row = {"a": [1.0, math.nan, math.inf, None], "b": {"c": -math.inf}, "d": b"\xff\x00", "e": [1, 2], "f": []}
    [line] = Jsonl().lines([[row]], Counts())
    assert line == {"a": [1.0, "NaN", "Infinity", None], "b": {"c": "-Infinity"}, "d": "/wA=", "e": [1, 2], "f": []}


def test_lines_become_the_same_table_again() -> None:
    odd = {**sample(), "logprobs": [0.0, 0.0, 0.0, 0.0, -math.inf, math.nan]}
    rows = [episode(0, samples=[odd]), episode(1, None), episode(2, math.inf)]
    lines = [encode(line).decode() for line in Jsonl().lines([as_table(rows).to_pylist()], Counts())]
    again = as_table([row_of(line) for line in lines])
    assert str(again.to_pylist()) == str(as_table(rows).to_pylist()), "by text, as NaN is not itself"


def test_a_row_with_redacted_text_goes_without_its_samples(games: Path, tmp_path: Path) -> None:
    task = next(rows_of(games))["task_id"]
    redaction = Redaction.of([f"task_id={task}"], Secrets((), ()))
    lines, counts = written(games, tmp_path / "out.jsonl", "jsonl", redaction=redaction)
    assert len(lines) == 24 and counts.notes[CHANGED] == 4
    assert all((line["task_id"] == "[redacted]") == (line["samples"] == []) for line in lines)
    assert task not in json.dumps([line["task_id"] for line in lines])


def test_tokens_and_labels_are_those_of_each_sample(games: Path, tmp_path: Path) -> None:
    lines, counts = written(games, tmp_path / "out.parquet", "trl-tokens")
    rows = {row["episode_id"]: row for row in rows_of(games)}
    expected = [
        (row["episode_id"], number)
        for row in rows.values()
        for number, sample in enumerate(row["samples"])
        if sample["trainable"] and sample["participant"] == "policy"
    ]
    assert [(line["episode_id"], line["sample"]) for line in lines] == expected and len(expected) > 24
    assert counts.notes[FORKED] == len(expected) - 24
    for line in lines:
        sample = rows[line["episode_id"]]["samples"][line["sample"]]
        assert line["input_ids"] == sample["token_ids"] and line["fork_reason"] == sample["fork_reason"]
        masked = [
            label if mask else NOT_TRAINED for label, mask in zip(line["input_ids"], sample["loss_mask"], strict=True)
        ]
        assert line["labels"] == masked and any(label != NOT_TRAINED for label in masked)


def test_a_participant_that_is_not_trained_has_no_tokens(games: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"nothing was written: episodes with {UNTRAINED}, and none to train on: 24"):
        written(games, tmp_path / "out.parquet", "trl-tokens", {"participant": "user"})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"loss_mask": [0, 0, 0, 0]}, "episodes with samples in which nothing was generated, and none to train on: 2"),
        ({"logprobs": [0.0, 0.0, 0.0, -math.inf]}, "episodes with samples with a log probability that is not finite"),
        ({"reward": None}, "episodes with samples of participants without a reward of their own, and none to train on"),
        ({}, "episodes with samples of participants that are not trained, and none to train on: 2"),
    ],
)
def test_why_an_episode_with_samples_has_none_to_train_on(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    spoilt = {**sample(4, 2), "trainable": False, **changed}
    judged = {**sample(4, 2), "trainable": False, "participant": "judge", "reward": 1.0}
    write(tmp_path, *(episode(number, samples=[spoilt, judged]) for number in range(2)))
    with pytest.raises(UserError, match=f"nothing was written: {re.escape(told)}"):
        written(tmp_path, tmp_path / "out.parquet", "trl-tokens")


@pytest.mark.parametrize("judged", [{"reward": None}, {"reward": 1.0}, {"reward": 1.0, "loss_mask": [0, 0, 0, 0]}])
@pytest.mark.parametrize("participant", [None, "policy"])
def test_samples_of_a_judge_tell_nothing_of_a_policy_without_token_ids(
    participant: str | None, judged: dict[str, Any]
) -> None:
    counts = Counts()
    samples = [{**sample(4, 2), "trainable": False, "participant": "judge", **judged}]
    assert not list(usable_samples({"samples": samples}, counts, participant))
    assert counts.left_out == {NO_SAMPLES: 1}
    samples.append({**sample(4, 2), "trainable": False})
    assert not list(usable_samples({"samples": samples}, counts, participant))
    assert counts.left_out == {NO_SAMPLES: 1, f"episodes with {UNTRAINED}, and none to train on": 1}
