"""Checks task rows: where they come from, what their ids are, and how a bad one is reported."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ray_gym import Environment, Task
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import TaskRow, read_tasks, with_ids
from ray_gym.errors import UserError


class Sum(Task):
    a: int
    b: int = 0
    words: tuple[str, ...] = ()


ZERO = "integer division or modulo by zero"


class Adding(Environment[Sum, int]):
    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> Sum:
        return Sum(a=index, b=rng.randrange(10**9))


def read(source: str, folder: Path = Path(), seed: int = 0, environment: Any = None, **more: Any) -> list[TaskRow]:
    return read_tasks(TasksSection(path=source, **more), environment or Adding(), seed, folder)


def generated(count: int, seed: int = 0, **more: Any) -> list[TaskRow]:
    return read_tasks(TasksSection(generate=count, **more), Adding(), seed, Path())


def jsonl(folder: Path, *rows: Any) -> str:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    (folder / "tasks.jsonl").write_text(text)
    return "tasks.jsonl"


def error_of(source: str, folder: Path, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        read(source, folder, **more)
    return str(caught.value)


class AddingLittle(Adding):
    def check(self, task: Sum) -> None:
        if task.a > 9:
            raise ValueError(f"a: {task.a} is too much")


def test_a_file_in_a_home_that_is_not_there(tmp_path: Path) -> None:
    assert error_of("~nosuch/tasks.jsonl", tmp_path) == "tasks.path: ~nosuch/tasks.jsonl: there is no user 'nosuch'"


def test_a_folder_is_no_file_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    told = f"tasks.path: {tmp_path / 'rows'} is a folder; name a .jsonl or .parquet file"
    assert error_of("rows", tmp_path) == told


def test_a_variable_of_a_shell_is_none_in_the_path_of_tasks(tmp_path: Path) -> None:
    told = "tasks.path: $HOME/t.jsonl: $HOME is a name here, and no variable: write ${oc.env:HOME}/t.jsonl"
    assert error_of("$HOME/t.jsonl", tmp_path) == told


def test_an_environment_can_refuse_a_row_for_what_the_schema_does_not_see(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"a": 9}, {"a": 10}, {"a": "x"})
    problems = error_of(path, tmp_path, environment=AddingLittle()).splitlines()
    assert problems[0].endswith("tasks.jsonl:2: a: 10 is too much") and "tasks.jsonl:3: a: " in problems[1]
    assert len(read(jsonl(tmp_path, {"a": 9}), tmp_path, environment=AddingLittle())) == 1


def test_messages_that_say_nothing_are_refused(tmp_path: Path) -> None:
    blank = [{"role": "system", "content": " "}, {"role": "user", "content": "\u200b"}]
    path = jsonl(tmp_path, {"a": 1, "messages": [{"role": "user", "content": ""}]}, {"a": 2, "messages": blank})
    told = "messages: all of them are blank, so that they ask nothing"
    assert error_of(path, tmp_path).splitlines() == [f"{tmp_path}/{path}:{line}: {told}" for line in (1, 2)]
    system = {"role": "system", "content": "Be brief."}
    asked = [{"role": "user", "content": content} for content in ("", " \n", None)]
    path = jsonl(tmp_path, *({"a": 1, "messages": [system, *after]} for after in (asked[:1], asked[1:2], asked)))
    told = "messages: all but the system's are blank, so that they ask nothing"
    assert error_of(path, tmp_path).splitlines() == [f"{tmp_path}/{path}:{line}: {told}" for line in (1, 2, 3)]
    assert len(read(jsonl(tmp_path, {"a": 1, "messages": [system]}), tmp_path)) == 1, "the opening's messages follow"
    said = [{"role": "user", "content": ""}, {"role": "assistant", "content": "Hi"}]
    assert len(read(jsonl(tmp_path, {"a": 1, "messages": said}, {"a": 2, "messages": "Q"}), tmp_path)) == 2


class AddingBadly(Adding):
    def check(self, task: Sum) -> None:
        1 // (task.a - 9)  # check

    def generate(self, rng: random.Random, index: int) -> Sum:
        return Sum(a=1 // (index - 2))  # generate


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def test_a_check_and_a_generator_that_fail_are_named_with_their_line(tmp_path: Path) -> None:
    told = error_of(jsonl(tmp_path, {"a": 9}), tmp_path, environment=AddingBadly())
    place = f"(test_tasks.py:{line_of('check')})"
    assert told.endswith(f": (top level): AddingBadly.check failed: ZeroDivisionError: {ZERO} {place}")
    with pytest.raises(UserError) as caught:
        read_tasks(TasksSection(generate=3), AddingBadly(), 0, Path())
    place = f"(test_tasks.py:{line_of('generate')})"
    assert str(caught.value) == (f"tasks.generate: the generator failed on task 2: ZeroDivisionError: {ZERO} {place}")


class Unfit(Adding):
    def check(self, task: Sum) -> Any:
        return False

    def generate(self, rng: random.Random, index: int) -> Any:
        return {"a": 1}


def test_a_check_and_a_generator_that_return_something_else_are_named(tmp_path: Path) -> None:
    told = error_of(jsonl(tmp_path, {"a": 9}), tmp_path, environment=Unfit())
    assert (
        ": (top level): Unfit.check (test_tasks.py:" in told
        and "it returned False, a bool; expected a ValueError" in told
    )
    with pytest.raises(
        UserError, match=r"tasks\.generate: Unfit\.generate \(.*\): it returned .* a dict; expected a Task"
    ):
        read_tasks(TasksSection(generate=1), Unfit(), 0, Path())


class Wide(Sum):
    c: int = 0


class Open(Sum, extra="allow"):
    pass


@pytest.mark.parametrize(
    ("plays", "made", "told"),
    [
        (
            Task,
            Sum(a=1),
            "it returned a Sum, and Made plays Task: write class Made(Environment[Sum, ...]), or return a Task",
        ),
        (Sum, Wide(a=1), "it returned a Wide, and Made plays Sum"),
        (Sum, Task(), "it returned a Task, and Made plays Sum"),
        (Wide, Sum(a=1), "it returned a Sum, and Made plays Wide"),
        (Sum, Open(a=1), ""),
        (Open, Open(a=1), ""),
        (Task, Task(), ""),
    ],
)
def test_a_generator_of_another_type_of_tasks_is_named(plays: type[Task], made: Task, told: str) -> None:
    environment: Any = type("Made", (Adding,), {"generate": lambda self, rng, index: made, "task_type": plays})()
    if not told:
        assert len(read_tasks(TasksSection(generate=1), environment, 0, Path())) == 1
        return
    with pytest.raises(UserError) as caught:
        read_tasks(TasksSection(generate=1), environment, 0, Path())
    assert str(caught.value).startswith("tasks.generate: Made.generate (test_tasks.py:") and told in str(caught.value)


def test_rows_of_both_formats_are_the_same_tasks(tmp_path: Path) -> None:
    rows = [{"task_id": "one", "a": 1, "b": None, "words": ["x", "y"]}, {"task_id": "two", "a": 2, "b": 3, "words": []}]
    first = {key: value for key, value in rows[0].items() if value is not None}
    from_lines = read(jsonl(tmp_path, first, "", rows[1]), tmp_path)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "tasks.parquet")
    assert from_lines == read("tasks.parquet", tmp_path)
    assert [row.task_id for row in from_lines] == ["one", "two"]
    assert Sum.model_validate_json(from_lines[0].task) == Sum(task_id="one", a=1, words=("x", "y"))


def test_ids_are_given_or_hashed_from_the_content(tmp_path: Path) -> None:
    given_id, hashed, again, other = read(
        jsonl(tmp_path, {"task_id": "mine", "a": 1}, {"a": 1}, {"a": 1}, {"a": 2}), tmp_path
    )
    assert given_id.task_id == "mine"
    assert again.task_id == f"{hashed.task_id}-1" and again.task == hashed.task
    assert len({hashed.task_id, again.task_id, other.task_id}) == 3
    reordered = read(jsonl(tmp_path, {"a": 2}, {"b": 0, "a": 1}), tmp_path)
    assert [row.task_id for row in reordered] == [other.task_id, hashed.task_id], (
        "an id does not depend on the place in the file"
    )


def test_a_given_id_is_no_other_rows_hash(tmp_path: Path) -> None:
    [hashed] = read(jsonl(tmp_path, {"a": 1}), tmp_path)
    given = {"a": 2, "task_id": hashed.task_id}
    assert "jsonl:2: task_id" in error_of(jsonl(tmp_path, {"a": 1}, given), tmp_path)
    assert "is the hash of this row, and that of" in error_of(jsonl(tmp_path, given, {"a": 1}), tmp_path)


def test_a_given_id_is_given_once(tmp_path: Path) -> None:
    message = error_of(jsonl(tmp_path, {"task_id": "mine", "a": 1}, {"task_id": "mine", "a": 2}), tmp_path)
    assert message.startswith(str(tmp_path)) and "jsonl:2: task_id: 'mine' is given already at" in message
    assert message.endswith("jsonl:1")


@settings(deadline=None)
@given(st.lists(st.sampled_from(["h-1", "h", "", "x"]).map(lambda name: name or None), max_size=8), st.data())
def test_ids_are_distinct_however_they_came(names: list[str | None], data: st.DataObject) -> None:
    tasks = [(f"row {n}", Sum(task_id=name, a=data.draw(st.integers(0, 1)))) for n, name in enumerate(names)]
    given_names = [name for name in names if name]
    if len(set(given_names)) < len(given_names):
        with pytest.raises(UserError):
            list(with_ids(tasks))
    else:
        ids = [row.task_id for row in with_ids(tasks)]
        assert len(set(ids)) == len(ids) == len(tasks)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"a": "x"}, "a: Input should be a valid integer, unable to parse string as an integer (found 'x')"),
        ({}, "a: missing"),
        ({"a": 1, "bb": 2}, "bb: unknown key; did you mean 'b'?"),
        ({"a": 1, "words": ["x", 3]}, "words.1: Input should be a valid string (found 3)"),
        ([1], "(top level): Input should be an object"),
        ("{'a': 1}", "(top level): Invalid JSON"),
        ('{"a": 1', "(top level): Invalid JSON"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(row: Any, told: str, tmp_path: Path) -> None:
    message = error_of(jsonl(tmp_path, {"a": 0}, "", row), tmp_path)
    assert message.startswith(f"{tmp_path / 'tasks.jsonl'}:3: {told}")
    assert "\n" not in message


def test_all_bad_rows_are_named_up_to_a_point(tmp_path: Path) -> None:
    lines = error_of(jsonl(tmp_path, *[{"a": "x"}] * 25), tmp_path).splitlines()
    assert (
        len(lines) == 21
        and lines[19].startswith(f"{tmp_path / 'tasks.jsonl'}:20: a:")
        and lines[20] == "... and 5 more"
    )


def test_a_bad_row_of_a_parquet_file_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"a": 1}, {"a": None}]), tmp_path / "tasks.parquet")
    assert error_of("tasks.parquet", tmp_path).startswith(f"{tmp_path / 'tasks.parquet'} row 1: a: missing")


def test_limit_takes_the_first_rows_and_reads_no_further(tmp_path: Path) -> None:
    rows = read(jsonl(tmp_path, {"a": 1}, {"a": 2}, {"a": "bad"}), tmp_path, limit=2)
    assert [Sum.model_validate_json(row.task).a for row in rows] == [1, 2]
    assert len(generated(8, limit=3)) == 3 and len(generated(2, limit=3)) == 2


def test_files_that_can_give_no_tasks(tmp_path: Path) -> None:
    assert error_of(jsonl(tmp_path), tmp_path) == "tasks: tasks.jsonl gave no tasks"
    assert error_of(jsonl(tmp_path, "", ""), tmp_path) == "tasks: tasks.jsonl gave no tasks"
    assert f"there is no file {tmp_path / 'absent.jsonl'}" in error_of("absent.jsonl", tmp_path)
    (tmp_path / "tasks.csv").write_text("a\n1\n")
    assert error_of("tasks.csv", tmp_path).endswith("tasks.csv is neither .jsonl nor .parquet")
    (tmp_path / "tasks.parquet").write_text("no parquet")
    assert "tasks.parquet: not a readable Parquet file" in error_of("tasks.parquet", tmp_path)
    (tmp_path / "tasks.jsonl").write_bytes(b'{"a": 1, "words": ["\xff"]}\n')
    assert error_of("tasks.jsonl", tmp_path).endswith(
        "tasks.jsonl:1: (top level): not UTF-8: invalid start byte at byte 21"
    )


def test_system_prompts_name_participants_that_there_are(tmp_path: Path) -> None:
    message = error_of(jsonl(tmp_path, {"task_id": "t", "a": 1, "system_prompts": {"usr": "x"}}), tmp_path)
    assert message.endswith("tasks.jsonl:1: system_prompts.usr: known participants: policy, user")
    assert len(read(jsonl(tmp_path, {"a": 1, "system_prompts": {"user": "x"}}), tmp_path)) == 1


def test_generated_tasks_are_the_seeds() -> None:
    assert generated(5) == generated(5) and generated(5)[:3] == generated(3)
    assert not {row.task for row in generated(5, seed=1)} & {row.task for row in generated(5)}


def test_more_tasks_than_can_be_planned_are_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"^tasks: these are more than 10,000,000 episodes; lower tasks\.generate"):
        generated(10**23)
    assert len(generated(10**23, limit=1)) == 1


def test_an_environment_without_a_generator_says_what_to_do() -> None:
    class Silent(Adding):
        generate = Environment.generate

    with pytest.raises(UserError, match=r"tasks\.generate: Silent has no task generator: set tasks\.path"):
        read_tasks(TasksSection(generate=1), Silent(), 0, Path())


class Leaving(Adding):
    """Ends the process where it may only raise an error."""

    def generate(self, rng: random.Random, index: int) -> Sum:
        sys.exit(0)

    def check(self, task: Sum) -> None:
        sys.exit(0)


def test_an_authors_code_ends_no_command(tmp_path: Path) -> None:
    assert "Leaving.check failed: SystemExit: 0" in error_of(jsonl(tmp_path, {"a": 9}), tmp_path, environment=Leaving())
    with pytest.raises(UserError, match="the generator failed on task 0: SystemExit: 0"):
        read_tasks(TasksSection(generate=1), Leaving(), 0, Path())
