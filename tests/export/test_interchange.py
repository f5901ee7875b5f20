"""Checks forms for other projects' tools against the record: every answer is there once, with its tokens and logprobs."""

from __future__ import annotations

import asyncio
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_runs import GAMES, LIBRARY, played_run, rows_of
from written_forms import written

from ray_gym.export.atif import MALFORMED, steps_of
from ray_gym.export.filters import Filters
from ray_gym.export.generated import FORKED
from ray_gym.export.nemo_gym import NAMED_AS_FIELDS
from ray_gym.export.redaction import Redaction
from ray_gym.export.samples import NO_SAMPLES
from ray_gym.export.secrets import Secrets
from ray_gym.export.selection import Counts
from ray_gym.record.bounds import read_bound

Line = dict[str, Any]
Answer = tuple[list[int], list[int], list[float]]
"""Prompt, generated tokens, and their logprobs."""


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(played_run(tmp_path_factory.mktemp("games"), GAMES, forks_at=2))


def recorded(row: Line, participant: str = "policy") -> list[Answer]:
    """Returns the answers of a participant in a row of the record, found by the mask alone or by the spans."""
    found = []
    for sample in row["samples"]:
        if sample["participant"] != participant:
            continue
        for span in (span for span in sample["spans"] if span["generated"]):
            own = slice(span["start"], span["end"])
            assert all(sample["loss_mask"][own])
            found.append((span["event_seq"], sample, own))
        assert sum(sample["loss_mask"]) == sum(own.stop - own.start for _, one, own in found if one is sample)
    return [
        (sample["token_ids"][: own.start], sample["token_ids"][own], sample["logprobs"][own])
        for _, sample, own in sorted(found, key=lambda one: one[0])
    ]


def by_episode(run: Path) -> dict[str, Line]:
    return {row["episode_id"]: row for row in rows_of(run)}


def of_nemo_gym(line: Line) -> list[Answer]:
    names = ("prompt_token_ids", "generation_token_ids", "generation_log_probs")
    return [tuple(item[name] for name in names) for item in line["response"]["output"] if names[0] in item]


def of_atif(line: Line) -> list[Answer]:
    names = ("prompt_token_ids", "completion_token_ids", "logprobs")
    return [tuple(step["metrics"][name] for name in names) for step in line["steps"] if "metrics" in step]


def of_openenv(line: Line) -> list[Answer]:
    names = ("prompt_token_ids", "completion_token_ids", "per_token_logps")
    return [tuple(turn[name] for name in names) for turn in line["turns"]]


def test_each_form_has_the_tokens_of_every_answer(games: Path, tmp_path: Path) -> None:
    rows = by_episode(games)
    for form, answers, ids in (
        ("nemo-gym-rollouts", of_nemo_gym, lambda line: line["episode_id"]),
        ("atif", of_atif, lambda line: line["session_id"]),
        ("openenv", of_openenv, lambda line: line["turns"][0]["metadata"]["episode_id"]),
    ):
        lines, counts = written(games, tmp_path / "out.jsonl", form)
        assert len(lines) == 24 and counts.notes[FORKED] == 24
        for line in lines:
            assert answers(line) == recorded(rows[ids(line)]), form


def test_another_participant_is_written_with_its_own_reward(games: Path, tmp_path: Path) -> None:
    rows = by_episode(games)
    for form in ("nemo-gym-rollouts", "atif"):
        lines, _ = written(games, tmp_path / "out.jsonl", form, {"participant": "user"})
        answers = of_atif if form == "atif" else of_nemo_gym
        for line in lines:
            row = rows[line["session_id" if form == "atif" else "episode_id"]]
            assert answers(line) == recorded(row, "user")
            rewards = {one["participant"]: one["value"] for one in row["rewards"]}
            assert (line["extra"] if form == "atif" else line)["reward"] == rewards["user"]


def test_numbers_of_nemo_gym_are_the_same_in_both_files_and_under_filters(games: Path, tmp_path: Path) -> None:
    def numbers(form: str, filters: Filters) -> dict[str, tuple[int, int]]:
        lines, _ = written(games, tmp_path / "out.jsonl", form, filters=filters)
        return {line["episode_id"]: (line["_ng_task_index"], line["_ng_rollout_index"]) for line in lines}

    inputs = numbers("nemo-gym-inputs", Filters())
    tasks = {(row["task_id"], inputs[row["episode_id"]][0]) for row in rows_of(games)}
    assert len(set(inputs.values())) == 24 and len(tasks) == 6
    assert all(inputs[row["episode_id"]][1] == row["repeat"] for row in rows_of(games))
    won = numbers("nemo-gym-rollouts", Filters(rewards=[read_bound(">0.9", "--reward")]))
    assert 0 < len(won) < 24 and won.items() <= inputs.items()


def test_a_part_of_the_reward_with_the_name_of_a_count_is_no_count(games: Path, tmp_path: Path) -> None:
    games = Path(shutil.copytree(games, tmp_path / "run"))
    part = sorted((games / "episodes").glob("*.parquet"))[0]
    table = pq.read_table(part)
    rows = table.to_pylist()
    for name, value in (("turns", -0.5), ("tool_calls", 0.25), ("response", 0.125), ("won", 1.0)):
        rows[0]["rewards"].append({"participant": "policy", "name": name, "value": value})
    pq.write_table(table.from_pylist(rows, schema=table.schema), part)
    lines, counts = written(games, tmp_path / "out.jsonl", "nemo-gym-rollouts")
    line = next(line for line in lines if line["episode_id"] == rows[0]["episode_id"])
    assert (line["turns"], line["tool_calls"]) == (rows[0]["turns"], rows[0]["usage"]["tool_calls"])
    named = [line["reward/turns"], line["reward/tool_calls"], line["reward/response"], line["won"]]
    assert named == [-0.5, 0.25, 0.125, 1.0] and line["response"]["output"]
    assert counts.notes[NAMED_AS_FIELDS] == 3


def test_inputs_are_of_failed_episodes_too(games: Path, tmp_path: Path) -> None:
    games = Path(shutil.copytree(games, tmp_path / "run"))
    part = sorted((games / "episodes").glob("*.parquet"))[0]
    table = pq.read_table(part)
    rows = table.to_pylist()
    rows[0] |= {"status": "failed", "reward": None}
    pq.write_table(table.from_pylist(rows, schema=table.schema), part)
    inputs, _ = written(games, tmp_path / "in.jsonl", "nemo-gym-inputs")
    rollouts, counts = written(games, tmp_path / "out.jsonl", "nemo-gym-rollouts")
    assert (len(inputs), len(rollouts)) == (24, 23) and counts.left_out == {"episodes that failed": 1}


def test_a_call_that_could_not_be_read_has_its_text_apart() -> None:
    calls = [{"id": "q", "name": name, "arguments": '{"name": null}'} for name in ("", "look")]
    event = {"role": "assistant", "content": [], "reasoning": None, "tool_calls": calls, "kind": "opening", "seq": 1}
    counts = Counts()
    [step] = steps_of([{**event, "started_at": 0}], {}, counts)
    unread, read = step["tool_calls"]
    assert (unread["arguments"], unread["extra"]) == ({}, {"arguments": '{"name": null}'})
    assert read["arguments"] == {"name": None} and "extra" not in read and counts.notes[MALFORMED] == 1


def test_a_result_is_in_the_step_that_called_for_it(tmp_path: Path) -> None:
    run = asyncio.run(played_run(tmp_path, LIBRARY))
    lines, counts = written(run, tmp_path / "out.jsonl", "atif")
    texts = [call for row in rows_of(run) for event in row["events"] for call in event["tool_calls"]]
    unread = [call["arguments"] for call in texts if call["arguments"] == "{page"]
    assert counts.notes[MALFORMED] == len(unread) > 0
    for line in lines:
        told, called, said = line["steps"]
        assert (told["source"], called["source"], said["message"]) == ("user", "agent", "Read.")
        [call], [result] = called["tool_calls"], called["observation"]["results"]
        assert result["source_call_id"] == call["tool_call_id"] and call["arguments"] in ({}, {"page": 1})
        assert ("extra" in call) == (call["arguments"] == {})
        assert line["agent"]["tool_definitions"][0]["function"]["name"] == call["function_name"]


def test_redacted_text_goes_without_tokens_and_forms_stay_valid(games: Path, tmp_path: Path) -> None:
    redaction = Redaction.of([r"plays [0-9]", "ATIF", r"20\d\d-", "agent"], Secrets((), ()))
    for form, answers in (("nemo-gym-rollouts", of_nemo_gym), ("atif", of_atif)):
        lines, _ = written(games, tmp_path / "out.jsonl", form, redaction=redaction)
        assert len(lines) == 24 and not any(map(answers, lines))
        text = json.dumps(lines)
        assert "[redacted]" in text and "plays 1" not in text
    assert {line["schema_version"] for line in lines} == {"ATIF-v1.7"}
    assert all("[redacted]" not in step["source"] + step["timestamp"] for line in lines for step in line["steps"])


def test_a_trace_has_the_whole_request_and_only_trainable_calls(games: Path, tmp_path: Path) -> None:
    lines, _ = written(games, tmp_path / "out.jsonl", "openenv")
    for line in lines:
        turns = line["turns"]
        assert len({turn["node_id"] for turn in turns}) == len(turns)
        for earlier, later in pairwise(turns):
            before = later["request"]["messages"]
            place = len(earlier["request"]["messages"])
            assert before[:place] == earlier["request"]["messages"]
            assert before[place] == earlier["response"]["choices"][0]["message"]
        assert all(len(turn["loss_mask"]) == len(turn["prompt_token_ids"]) + sum(turn["loss_mask"]) for turn in turns)


def test_a_run_of_text_has_trajectories_without_tokens_and_no_trace(tmp_path: Path) -> None:
    run = asyncio.run(played_run(tmp_path, GAMES, tokens=False))
    for form, answers in (("nemo-gym-rollouts", of_nemo_gym), ("atif", of_atif)):
        lines, _ = written(run, tmp_path / "out.jsonl", form)
        assert len(lines) == 24 and not any(map(answers, lines))
    with pytest.raises(Exception, match="nothing was written") as error:
        written(run, tmp_path / "out.jsonl", "openenv")
    assert NO_SAMPLES in str(error.value)
