"""Reads files with every kind of bad row: each is reported by its line, and the other rows are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from ray_gym import Environment, Task
from ray_gym.config.file import explain
from ray_gym.data import rows
from ray_gym.data.lengths import character_ruler
from ray_gym.data.report import ranges, report_lines
from ray_gym.data.rows import TaskFile
from ray_gym.data.validation import ValidationReport, validate
from ray_gym.errors import UserError
from ray_gym.openai_api.conversation import has_unsaid_answer, read_conversation


class Sum(Task):
    a: int
    b: float = 0.0
    words: tuple[str, ...] = ()


class Adding(Environment[Sum, None]):
    def setup(self, task: Sum, episode: object) -> None:
        if task.a == 13:
            raise RuntimeError("thirteen")


class Calls(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = ""
    arguments: dict[str, Calls] = {}


class Flat(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["flat"] = "flat"
    rooms: int = 1


class House(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["house"] = "house"
    storeys: int = 1


class NestedTask(Task):
    """Holds models inside of every kind of container."""

    calls: tuple[Calls, ...] = ()
    pair: tuple[Flat, Calls] | None = None
    more: Sequence[Calls] = Field((), validation_alias=AliasChoices("more", "theirs"))
    homes: tuple[Annotated[Flat | House, Field(discriminator="kind")], ...] = ()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"calls": [{}, {"nam": "x"}]}, "calls.1.nam: unknown key; did you mean 'name'?"),
        ({"calls": [{"arguments": {"a": {"argument": {}}}}]}, "calls.0.arguments.a.argument: unknown key; did you mean 'arguments'?"),
        ({"calls": [{"zzz": 1}]}, "calls.0.zzz: unknown key; known: name, arguments"),
        ({"pair": [{"room": 2}, {}]}, "pair.0.room: unknown key; did you mean 'rooms'?"),
        ({"pair": [{}, {"nam": ""}]}, "pair.1.nam: unknown key; did you mean 'name'?"),
        ({"theirs": [{"nam": ""}]}, "theirs.0.nam: unknown key; did you mean 'name'?"),
        ({"homes": [{"kind": "house", "storey": 2}]}, "homes.0.house.storey: unknown key; did you mean 'storeys'?"),
        ({"homes": [{"kind": "flat", "storeys": 2}]}, "homes.0.flat.storeys: unknown key; known: kind, rooms"),
        ({"calls": [{"k" * 100: 1}]}, f"calls.0.{'k' * 80}...: unknown key; known: name, arguments"),
        ({"thiers": []}, "thiers: unknown key; did you mean 'theirs'?"),
    ],
)  # fmt: skip
def test_a_mistyped_key_is_told_the_nearest_one_wherever_it_stands(row: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as error:
        NestedTask.model_validate(row)
    assert explain(error.value, NestedTask) == [problem]


def report_of(path: Path) -> ValidationReport:
    return validate(TaskFile(path), Adding(), character_ruler())


def lines_of(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


GOOD = b'{"a": 1}\n'
BAD: dict[bytes, str] = {
    b"{'a': 1}\n": "(top level): Invalid JSON: Expecting property name enclosed in double quotes at character 2",
    b"[1]\n": "(top level): Input should be an object (found [1])",
    b"null\n": "(top level): Input should be an object (found None)",
    b"{}\n": "a: missing",
    b'{"b": 1}\n': "a: missing",
    b'{"a": "x"}\n': "a: Input should be a valid integer, unable to parse string as an integer (found 'x')",
    b'{"a": 1, "words": ["x", 3]}\n': "words.1: Input should be a valid string (found 3)",
    b'{"a": 1, "bb": 2}\n': "bb: unknown key; did you mean 'b'?",
    b'{"a": 1, "words": ["\xff"]}\n': "(top level): not UTF-8: invalid start byte at byte 21",
    b'{"a": 1, "b": NaN}\n': "b: nan is no number that JSON has; leave it out, or write null",
    b'{"a": 1, "words": [-Infinity]}\n': "words.0: -inf is no number that JSON has; leave it out, or write null",
    b'{"a": 1, "b": 1e999}\n': "b: inf is no number that JSON has; leave it out, or write null",
    b'{"a": 1, "words": ["\\ud800"]}\n': "(top level): Invalid JSON: half a surrogate pair (\\ud800 to \\udfff) stands alone",
    b'{"a": 1} {"a": 2}\n': "(top level): Invalid JSON: Extra data at character 10",
    b"[" * 100_000 + b"\n": "(top level): Invalid JSON: nested too deeply",
    b'{"a": ' + b"[" * 600 + b"NaN" + b"]" * 600 + b"}\n": "(top level): Invalid JSON: nested too deeply",
    b"[" * 900 + b"]" * 900 + b"\n": "(top level): ",
    b'{"a": ' + b"9" * 5000 + b"}\n": "(top level): Invalid JSON: a whole number with more digits than can be read",
    b'\xef\xbb\xbf{"a": 1}\n': "(top level): Invalid JSON: a byte order mark, which only a file's first line may begin with",
    b'{"a": 1, "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}\n': "messages: the policy spoke",
    b'{"a": 1, "system_prompts": {"usr": "x"}}\n': "system_prompts.usr: known participants: policy",
    b'{"a": 13}\n': "Adding.setup (test_rows_of_files.py:35): RuntimeError: thirteen",
    b'{"task_id": "one", "a": "x"}\n': "a: Input should be a valid integer",
    b'{"task_id": "one", "a": 1}\n': "task_id: 'one' is given already at ",
    b'{"a": 1, "b": 1, "a": 2}\n': "(top level): the key 'a' is given twice in the same object",
    b'{"a": "\\u003a", "a" : ":"}\n': "(top level): the key 'a' is given twice in the same object",
    b'{"a\\u003a": "", "a:": "x"}\n': "(top level): the key 'a:' is given twice in the same object",
    b'{"a": 1, "words": [{"x": 1, "y": {"z": 1, "z": 1}}]}\n': "(top level): the key 'z' is given twice in the same object",
    b'{"a": 1, "task_id": ""}\n': "task_id: String should have at least 1 character",
    b'{"a": 1, "task_id": "' + b"x" * 257 + b'"}\n': "task_id: String should have at most 256 characters",
    b'{"a": 1, "task_id": "x\\ny"}\n': "task_id: it has control characters",
    b'{"a": 1, "task_id": "\\u0085"}\n': "task_id: it has control characters",
    b'{"a": 1, "words": ["x"': "(top level): Invalid JSON: Expecting ',' delimiter at character 23; the file ends on this line",
}


FIRST_WITH_ITS_ID = b'{"task_id": "one", "a": "x"}\n'


def test_every_kind_of_bad_row_is_told_by_its_line(tmp_path: Path) -> None:
    lines = [line for bad in BAD for line in (GOOD, bad)]
    report = report_of(lines_of(tmp_path / "tasks.jsonl", lines))
    assert report.rows == 2 * len(BAD) and report.good == len(BAD)
    assert list(report.bad) == list(range(2, 2 * len(BAD) + 1, 2))
    for told, expected in zip(report.bad.values(), BAD.values(), strict=True):
        assert len(told) == 1 and told[0].startswith(expected)
    assert report.bad[2 * list(BAD).index(b'{"task_id": "one", "a": 1}\n') + 2] == [
        f"task_id: 'one' is given already at {tmp_path}/tasks.jsonl:{2 * list(BAD).index(FIRST_WITH_ITS_ID) + 2}"
    ]


def test_a_huge_line_is_skipped_and_told(tmp_path: Path) -> None:
    with (tmp_path / "tasks.jsonl").open("wb") as file:
        file.write(GOOD + b'{"a": 1, "words": ["')
        for _ in range(rows.LONGEST_LINE // 2**20 * 2):
            file.write(b"x" * 2**20)
        file.write(b'"]}\n' + GOOD + b'{"a": "x"}\n')
    report = report_of(tmp_path / "tasks.jsonl")
    assert report.bad[2] == ["(top level): the line is longer than 32 MiB"]
    assert report.rows == 4 and list(report.bad) == [2, 4]


@pytest.mark.parametrize("extra", [-1, 0, 1, 2, 3])
def test_the_longest_line_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    """The limit counts the line break too; wherever the line is cut, the next one is whole."""
    monkeypatch.setattr(rows, "LONGEST_LINE", len(GOOD))
    line = b'{"a": 1' + b" " * max(extra, 0) + b"}" + (b"\n" if extra >= 0 else b"")
    report = report_of(lines_of(tmp_path / "tasks.jsonl", [GOOD, line, *([GOOD] if extra >= 0 else [])]))
    assert list(report.bad) == ([2] if extra > 0 else [])
    assert report.rows == (3 if extra >= 0 else 2)


def test_what_does_no_harm_is_passed_over_and_told_by_its_line(tmp_path: Path) -> None:
    lines = [b'\xef\xbb\xbf{"a": 1}\r\n', b"\n", b"  \t\n", b'{"a": 2}\r\n', b"\r\n", b'{"a": "x"}\r\n', b'{"a": 3}']
    report = report_of(lines_of(tmp_path / "tasks.jsonl", lines))
    assert report.rows == 4 and list(report.bad) == [6]
    assert report.file.remarks == {
        "a byte order mark": [1],
        "a line break as on Windows (CRLF)": [1, 4, 5, 6],
        "nothing on the line": [2, 3, 5],
    }
    told = report_lines(report)
    assert "passed over: nothing on the line: lines 2-3, 5" in told
    assert "passed over: a line break as on Windows (CRLF): lines 1, 4-6" in told


def test_fields_of_messages_that_are_passed_over_are_told(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Yes?", "weight": 0, "name": "Ann"},
    ]
    rows = [{"messages": messages}, {"messages": messages[:1]}, {"responses_create_params": {"input": messages}}]
    file = TaskFile(lines_of(tmp_path / "tasks.jsonl", [json.dumps(row).encode() + b"\n" for row in rows]))
    assert len(list(file.rows())) == 3
    told = ("name of messages, which is not used", "weight of messages, which is not used")
    assert file.remarks == {remark: [1, 3] for remark in told}


@pytest.mark.parametrize(
    "content",
    [
        *("<think>only</think>", "only</think>", "<think>only", "", None, " [THINK]a[/THINK]\n"),
        *("  \n", "\u200b", " \ufeff\u2060 ", "<think>a</think>\u200b", [{"type": "text", "text": "\t\u200d"}]),
    ],
)
def test_an_answer_without_words_is_passed_over_and_told(tmp_path: Path, content: Any) -> None:
    asked, silent = {"role": "user", "content": "Hi."}, {"role": "assistant", "content": content}
    talks = [[asked, silent, asked], [asked, {"role": "assistant", "content": "<think>a</think>Yes?"}, asked]]
    rows = [{"messages": talk} for talk in talks] + [{"responses_create_params": {"input": talk}} for talk in talks]
    file = TaskFile(lines_of(tmp_path / "tasks.jsonl", [json.dumps(row).encode() + b"\n" for row in rows]))
    assert len(list(file.rows())) == 4
    assert file.remarks == {"a message of the assistant without words and calls, which is left out": [1, 3]}
    assert len(read_conversation(talks[0])) == 2 and len(read_conversation(talks[1])) == 3


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "f", "arguments": "{}"}]}],
        [
            {"type": "reasoning", "summary": "a"},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": ""},
        ],
        [{"role": "assistant", "content": None, "refusal": "No."}],
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}, {"text": "[1]"}]}],
        [{"role": "assistant"}, {"role": "nobody"}],
    ],
)
def test_an_answer_with_words_or_calls_is_not_told(items: list[dict[str, Any]]) -> None:
    assert not has_unsaid_answer(items)


def test_a_key_twice_in_a_json_column_of_parquet_is_a_bad_row(tmp_path: Path) -> None:
    column = pa.array(['{"k": 1, "k": 2}', '{"k": 1}'], pa.json_())
    pq.write_table(pa.table({"a": [1, 1], "b": column}), tmp_path / "tasks.parquet")
    rows = list(TaskFile(tmp_path / "tasks.parquet").rows())
    assert [row.problem for row in rows] == ["b: the key 'k' is given twice in the same object", ""]
    assert rows[1].fields == {"a": 1, "b": {"k": 1}}


def test_two_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "tasks.parquet")
    with pytest.raises(UserError, match=r"tasks.parquet: two columns have the name 'a'; rename one, or leave it out"):
        list(TaskFile(tmp_path / "tasks.parquet").rows())


def test_a_bad_row_of_parquet_is_told_by_its_number(tmp_path: Path) -> None:
    given = [{"a": 1, "b": 0.5}, {"a": None, "b": 0.5}, {"a": 3, "b": float("nan")}, {"a": 13, "b": None}]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "tasks.parquet")
    report = report_of(tmp_path / "tasks.parquet")
    assert list(report.bad) == [1, 2, 3]
    assert report.bad[1] == ["a: missing"] and report.bad[2][0].startswith("b: nan is no number")
    assert report_lines(report)[0] == f"{tmp_path}/tasks.parquet row 1: a: missing"


def test_rows_that_differ_in_their_ids_only_are_duplicates(tmp_path: Path) -> None:
    given = [{"a": 1}, {"a": 2}, {"a": 1, "task_id": "x"}, {"b": 0.0, "a": 1}, {"a": 2}, {"a": "bad"}, {"a": 3}]
    report = report_of(lines_of(tmp_path / "tasks.jsonl", [json.dumps(row).encode() + b"\n" for row in given]))
    assert report.duplicates == [[1, 3, 4], [2, 5]]
    told = report_lines(report)
    assert "duplicate contents: 5 rows are 2 different ones" in told and "  the same: lines 1, 3-4" in told


def test_what_is_shown_is_cut_and_what_is_counted_is_not(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "tasks.jsonl", [b'{"a": "x"}\n', GOOD] * 25)
    report = report_of(path)
    told = report_lines(report)
    bad = [line for line in told if line.startswith(f"{path}:") and ": a: " in line]
    assert len(bad) == 20 and bad[-1].startswith(f"{path}:39: ")
    assert "... and 5 more bad rows (--all says what is wrong): lines 41, 43, 45, 47, 49" in told
    assert f"{path}: 50 rows, 25 good, 25 bad" in told
    assert sum(": a: " in line for line in report_lines(report, show_all=True)) == 25


def test_numbers_as_ranges() -> None:
    assert ranges([]) == "" and ranges([7]) == "7"
    assert ranges([1, 3, 4, 5, 9, 10]) == "1, 3-5, 9-10"


def test_suffixes_may_be_capitals(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"a": 1}, {"a": None}]), tmp_path / "tasks.PARQUET")
    assert report_of(lines_of(tmp_path / "tasks.JSONL", [GOOD, b'{"a": 2}\n'])).good == 2
    assert report_lines(report_of(tmp_path / "tasks.PARQUET"))[0] == f"{tmp_path}/tasks.PARQUET row 1: a: missing"


def test_the_longest_id_is_taken(tmp_path: Path) -> None:
    row = {"a": 1, "task_id": "ä 1/" + "x" * 252}
    assert report_of(lines_of(tmp_path / "tasks.jsonl", [json.dumps(row).encode()])).good == 1


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neither \.jsonl nor \.parquet"):
        report_of(lines_of(tmp_path / "tasks.csv", [GOOD]))
    with pytest.raises(UserError, match="not a readable Parquet file"):
        report_of(lines_of(tmp_path / "tasks.parquet", [b"PAR1 and no more"]))
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(UserError, match="can't be read: Is a directory"):
        report_of(tmp_path / "folder.jsonl")
