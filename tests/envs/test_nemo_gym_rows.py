"""Rows of NeMo Gym's data are read as they are, or refused with what is wrong about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nemo_playing import TOOLS, counter_row
from pydantic import ValidationError

from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.nemo_gym import NemoGym
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.errors import UserError

EXAMPLES = Path(__file__).parents[2] / "envs" / "nemo_gym" / "example.jsonl"
ENVIRONMENT = NemoGym(NemoGym.Options(base_url="http://127.0.0.1:1"))


def with_input(given: Any, **parameters: Any) -> dict[str, Any]:
    return {"responses_create_params": {"input": given, **parameters}, "answer": 1}


def test_a_row_is_the_same_after_it_was_recorded() -> None:
    row = counter_row() | {"messages": ["its own"], "task_id": 5, "system_prompts": "its own", "row": {"a": None}}
    task = NemoRow.model_validate_json(json.dumps(row))
    again = NemoRow.model_validate_json(task.model_dump_json())
    assert task.row == again.row == row and again.messages == task.messages
    assert "messages" not in json.loads(task.model_dump_json()), "they are in the row"
    named = NemoRow.model_validate({"task_id": "mine", "row": row, "system_prompts": {"policy": "Be kind."}})
    assert named.task_id == "mine" and named.prompts() == {"policy": "Be kind."}


def test_input_may_be_text_messages_or_items() -> None:
    items = [
        {"role": "developer", "content": "Rules."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ]
    task = NemoRow.model_validate(with_input(items, instructions="First."))
    assert task.prompts() == {"policy": "First.\n\nRules."}
    assert [message.role for message in task.messages] == ["system", "system", "user", "assistant", "tool"]
    text = NemoRow.model_validate(with_input("Hi.", instructions="First."))
    assert [(message.role, message.content) for message in text.messages] == [("system", "First."), ("user", "Hi.")]
    assert NemoRow.model_validate(with_input([])).messages == ()


def test_tools_are_read() -> None:
    task = NemoRow.model_validate(with_input("Hi.", tools=TOOLS))
    assert [schema.name for schema in task.tools()] == ["increment_counter", "get_counter_value"]
    assert task.tools()[1].parameters == {"type": "object", "properties": {}}
    assert NemoRow.model_validate(with_input("Hi.", tools=None)).tools() == ()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "Why?"}, "responses_create_params with input"),
        ({"responses_create_params": {"tools": []}}, "responses_create_params with input"),
        ({"responses_create_params": None}, "responses_create_params with input"),
        (with_input(7), "expected a list of messages"),
        (with_input([{"role": "robot", "content": ""}]), "role 'robot'"),
        (with_input([{"type": "computer_call"}]), "items of type 'computer_call'"),
        (with_input([{"role": "user", "content": [{"type": "input_image"}]}]), "only text can be read"),
        (with_input("Hi.", tools=[{"type": "web_search"}]), "tools[0]: expected a tool of type function"),
        (with_input("Hi.", tools=[{"type": "function"}]), "tools[0]: a tool needs a name"),
        (with_input("Hi.", tools=[{"type": "function", "name": "../verify"}]), "can't be a route"),
        (with_input("Hi.", tools=[{"type": "function", "name": "seed_session"}]), "can't be a route"),
        ({"row": counter_row(), "extra": 1}, "extra"),
    ],
)
def test_what_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        NemoRow.model_validate(row)
    assert message in str(caught.value)


def test_a_file_of_rows(tmp_path: Path) -> None:
    rows = read_tasks(TasksSection(path=str(EXAMPLES)), ENVIRONMENT, 0, tmp_path)
    assert len({row.task_id for row in rows}) == 5
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(counter_row()) + "\n" + json.dumps(with_input("Hi.", tools=[{}])) + "\n")
    with pytest.raises(UserError, match=r"bad.jsonl:2: .*tools\[0\]"):
        read_tasks(TasksSection(path=str(bad)), ENVIRONMENT, 0, tmp_path)
    with pytest.raises(UserError, match=r"set tasks.path to a file"):
        read_tasks(TasksSection(generate=1), ENVIRONMENT, 0, tmp_path)


def test_options() -> None:
    for address in ("localhost:1", "ftp://host", "http://"):
        with pytest.raises(ValidationError, match="is not an address"):
            NemoGym.Options(base_url=address)
    for address in ("http://h/?a=s3cr3t", "http://me:s3cr3t@h", "http://h/#s3cr3t"):
        with pytest.raises(
            ValidationError, match="only scheme, host, port and path go here; secrets go into header_env"
        ):
            NemoGym.Options(base_url=address)
    environment = NemoGym(NemoGym.Options(base_url="http://h:1/", reward_range=(-1, 1)))
    assert environment.reward_range == (-1, 1) and environment.server.base_url == "http://h:1"
