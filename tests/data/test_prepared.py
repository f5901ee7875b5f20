"""Checks prepared files: no row is lost, rows stay in their split, and existing files are not changed unasked."""

from __future__ import annotations

import datetime
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from environments import NAMES, options_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ray_gym import Environment, Task
from ray_gym.config.sections import TasksSection
from ray_gym.data.conflicts import conflict_with
from ray_gym.data.lengths import LengthSpread, character_ruler
from ray_gym.data.parquet import plain_rows, write_rows
from ray_gym.data.prepared import Prepared, Settings, files_of, prepare
from ray_gym.data.report import report_lines
from ray_gym.data.tasks import generate_tasks, read_tasks, with_ids
from ray_gym.data.writing import write_file, write_files
from ray_gym.plugins import find_environment


class Free(Task):
    x: Any = None


class FreeEnvironment(Environment[Free, None]):
    def setup(self, task: Free, episode: object) -> None: ...


def prepared(folder: Path, rows: list[dict[str, Any]], validation: float = 0.0, seed: int = 0) -> Prepared:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = Settings("free", {}, validation, seed)
    found = prepare([folder / "rows.jsonl"], FreeEnvironment(), chosen, character_ruler())
    assert not found.bad, found.reports[0].bad
    return found


def ids(found: Prepared, split: Any) -> set[str]:
    return {row["task_id"] for row in found.rows[split]}


# ---- Parquet ----

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON), min_size=1, max_size=5))
def test_json_goes_through_parquet_and_back(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    if not any(rows):
        return
    with (tmp_path / "rows.parquet").open("wb") as file:
        write_rows(rows, file)
    back = list(plain_rows(tmp_path / "rows.parquet"))
    assert back == rows
    assert json.dumps(back) == json.dumps([{key: row[key] for key in got} for got, row in zip(back, rows, strict=True)])


def test_columns_have_the_types_that_other_readers_know() -> None:
    rows = [
        {"text": "x", "number": 1, "mixed": 1, "nested": {"k": [1]}},
        {"text": None, "mixed": "y"},
        {"number": 2**63},
    ]
    file = io.BytesIO()
    write_rows([*rows[:1], {"number": 2}], file)
    types = {field.name: field.type for field in pq.ParquetFile(file).schema_arrow}
    assert types == {"text": pa.string(), "number": pa.int64(), "mixed": pa.int64(), "nested": pa.json_()}
    write_rows(rows, file := io.BytesIO())
    assert {str(field.type) for field in pq.ParquetFile(file).schema_arrow} == {"extension<arrow.json>"}


def test_nested_columns_of_others_are_read_without_the_keys_that_only_other_rows_have(tmp_path: Path) -> None:
    rows = [{"x": {"a": 1, "deep": [{"p": 1}]}}, {"x": {"b": 2, "deep": [{"q": 2}, None]}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "nested.parquet")
    assert list(plain_rows(tmp_path / "nested.parquet")) == rows
    mapped = pa.table({"x": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64()))})
    pq.write_table(mapped, tmp_path / "mapped.parquet")
    assert list(plain_rows(tmp_path / "mapped.parquet")) == [{"x": {"k": 1}}, {}]


@pytest.mark.environments
@pytest.mark.parametrize("name", NAMES)
def test_generated_tasks_of_every_environment_are_the_same_after_preparing(name: str, tmp_path: Path) -> None:
    """A run of the prepared file plays what a run of the generator would, under the same ids."""
    environment_class = find_environment(name)
    environment = environment_class(environment_class.Options.model_validate(options_of(name)))
    if type(environment).generate is Environment.generate:
        pytest.skip("it has no generator")
    tasks = [task for _, task in generate_tasks(environment, 3, 30)]
    rows = [json.loads(task.model_dump_json()) for task in tasks]
    random.Random(0).shuffle(rows)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = prepare([tmp_path / "rows.jsonl"], environment, Settings(name, {}, 0, 0), character_ruler())
    assert not found.bad, found.reports[0].bad
    write_files(tmp_path / "out", files_of(found))
    read = read_tasks(TasksSection(path=str(tmp_path / "out" / "train.parquet")), environment, 0, Path())
    played = {row.task_id: json.loads(row.task) | {"task_id": None} for row in read}
    assert played == {row.task_id: json.loads(row.task) for row in with_ids(("", task) for task in tasks)}


# ---- splits ----

ROWS = [{"x": number} for number in range(400)]


def test_a_row_stays_in_its_split_when_others_come_and_go(tmp_path: Path) -> None:
    few, all_of_them = prepared(tmp_path, ROWS[::-2], 0.2), prepared(tmp_path, ROWS, 0.2)
    assert ids(few, "validation") < ids(all_of_them, "validation") and ids(few, "train") < ids(all_of_them, "train")
    assert 50 <= len(ids(all_of_them, "validation")) <= 110
    assert not ids(all_of_them, "validation") & ids(all_of_them, "train")
    more = prepared(tmp_path, ROWS, 0.5)
    assert ids(all_of_them, "validation") < ids(more, "validation"), "a larger share only adds"


def test_another_seed_draws_another_share(tmp_path: Path) -> None:
    first, second = (ids(prepared(tmp_path, ROWS, 0.2, seed), "validation") for seed in (0, 1))
    assert 0 < len(first & second) < min(len(first), len(second))


def test_the_ends_of_the_share(tmp_path: Path) -> None:
    assert not prepared(tmp_path, ROWS, 0.0).rows["validation"] and not prepared(tmp_path, ROWS, 1.0).rows["train"]
    assert set(files_of(prepared(tmp_path, ROWS, 1.0))) == {"validation.parquet", "statistics.json"}


def test_rows_of_equal_content_are_not_torn_apart(tmp_path: Path) -> None:
    """Otherwise rows of the training split would also be in the validation split."""
    found = prepared(tmp_path, [row for row in ROWS for _ in range(3)], 0.3)
    contents = [{row["x"] for row in found.rows[split]} for split in ("train", "validation")]
    assert not contents[0] & contents[1] and len(found.rows["validation"]) == 3 * len(contents[1])


# ---- what is written ----


def test_statistics_say_where_everything_came_from(tmp_path: Path) -> None:
    rows = [{"x": "same"}, {"x": "same"}, {"x": 1, "messages": [{"role": "user", "content": "12345"}]}]
    statistics = json.loads(files_of(prepared(tmp_path, rows, 0.0, 5))["statistics.json"])
    assert statistics["settings"] == {"environment": "free", "options": {}, "validation": 0.0, "seed": 5}
    assert statistics["rows"] == {"train": 3, "validation": 0}
    (source,) = statistics["sources"]
    assert source["file"] == str(tmp_path / "rows.jsonl") and len(source["sha256"]) == 64
    assert (source["rows"], source["rows_with_a_double"]) == (3, 2)
    assert source["first_prompt"] == {"unit": "characters", "count": 3, "min": 0, "median": 0, "p95": 5, "max": 5}
    assert set(statistics["files"]) == {"train.parquet"}


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    assert files_of(prepared(tmp_path, ROWS, 0.1)) == files_of(prepared(tmp_path, ROWS, 0.1))


def test_lengths_are_those_of_rows_that_there_are() -> None:
    assert LengthSpread.of([]) is None
    assert LengthSpread.of([7]) == LengthSpread(1, 7, 7, 7, 7)
    assert LengthSpread.of(list(range(1, 101))[::-1]) == LengthSpread(100, 1, 50, 95, 100)


def test_a_conflict_names_every_row_that_would_change(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = prepared(tmp_path, [{"task_id": name, "x": 1} for name in "abcd"])
    assert not conflict_with(out, before)
    write_files(out, files_of(before))
    assert not conflict_with(out, before)
    after = [{"task_id": "d", "x": 1}, {"task_id": "a", "x": 2}, {"task_id": "b", "x": 1}, {"task_id": "e", "x": 1}]
    conflict = conflict_with(out, prepared(tmp_path, after))
    assert (conflict.added, conflict.removed, conflict.changed, conflict.moved) == (["e"], ["c"], ["a"], [])
    assert conflict.lines(10) == ["added: 1 (e)", "removed: 1 (c)", "changed: 1 (a)"]
    moved = conflict_with(out, prepared(tmp_path, [{"task_id": name, "x": 1} for name in "abcd"], 1.0))
    assert moved.moved == list("abcd") and moved.lines(2) == ["moved: 4 (a, b, ...)"]
    other_order = conflict_with(out, prepared(tmp_path, [{"task_id": name, "x": 1} for name in "dcba"]))
    assert other_order.lines(9) == ["reordered: 1 (train)"]
    (out / "train.parquet").write_bytes(b"half a file")
    (told,) = conflict_with(out, before).unreadable
    assert told.startswith("train.parquet: ArrowInvalid: ")


def test_a_value_that_is_set_to_null_is_not_one_that_is_not_set(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = prepared(tmp_path, [{"task_id": "a", "x": None}, {"task_id": "b"}])
    write_files(out, files_of(before))
    assert list(plain_rows(out / "train.parquet")) == [{"task_id": "a", "x": None}, {"task_id": "b"}]
    assert not conflict_with(out, before)


def test_files_are_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    write_file(tmp_path / "old" / "a", b"before")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        for directory in (tmp_path / "new", tmp_path / "old"):
            with pytest.raises(OSError, match="No space"):
                write_files(directory, {"a": b"after"})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["old", "old/a"]
    assert (tmp_path / "old" / "a").read_bytes() == b"before"
    write_files(tmp_path / "old", {"a": b"after", "b": b"new"}, stale=["c"])
    assert (tmp_path / "old" / "a").read_bytes() == b"after"


def test_ids_that_are_equal_as_texts_are_told_with_their_places(tmp_path: Path) -> None:
    """A date becomes a text."""
    day = datetime.date(2024, 5, 1)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(pa.table({"x": ["a", "b"], "task_id": [None, day]}), paths[0])
    pq.write_table(pa.table({"x": ["c"], "task_id": [day]}), paths[1])
    prepared = prepare(paths, FreeEnvironment(), Settings("free", {}, 0.0, 0), character_ruler())
    told = "\n".join(line for report in prepared.reports for line in report_lines(report, True))
    assert prepared.bad == 1 and f"task_id: '2024-05-01' is given already at {paths[0]} row 1" in told, told
