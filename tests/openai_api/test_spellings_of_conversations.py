"""Checks how rows spell conversations that were begun elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from test_conversation import CALL, CHAT, ITEMS, USER, call_item, output_item, shape, task_of

from ray_gym import Task
from ray_gym.openai_api.conversation import EarlierMessage, read_conversation


def test_both_spellings_are_the_same_conversation() -> None:
    assert task_of(CHAT) == task_of(ITEMS)
    [system, user, call, result, answer, again] = task_of(ITEMS).messages
    assert (system.role, system.content, user.content) == ("system", "Be brief.", "Find x.")
    assert (call.content, call.reasoning, call.tool_calls[0].name) == ("", "I look.", "find")
    assert call.tool_calls[0].arguments == '{"x": 1}'
    assert (result.role, result.content, result.tool_call_id) == ("tool", "x is 1", "c1")
    assert (answer.content, again.role) == ("It is 1.", "user")


def test_a_string_is_what_the_user_said() -> None:
    assert shape("Hello") == [("user", "Hello")]
    assert shape([]) == []


def test_parallel_calls_are_one_message() -> None:
    both = [call_item("a", "1"), call_item("b", "2"), output_item("2"), output_item("1")]
    assert shape([{"role": "user", "content": "go"}, *both]) == [
        ("user", "go"),
        ("assistant", "", ["1", "2"]),
        ("tool", "ok"),
        ("tool", "ok"),
    ]
    one_by_one = [call_item("a", "1"), output_item("1"), call_item("b", "1"), output_item("1")]
    assert [role for role, *_ in shape(one_by_one)] == ["assistant", "tool", "assistant", "tool"], "an id used again"


def test_the_parts_of_one_response_stay_one_message() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "First."}], "content": None}
    again = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Then."}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]}
    for order in (
        [thought, said, call_item("a", "1"), again, call_item("b", "2")],
        [thought, call_item("a", "1"), again, said, call_item("b", "2")],
        [thought, call_item("a", "1"), call_item("b", "2"), again, said],
    ):
        messages = task_of([*order, output_item("1"), output_item("2")]).messages
        assert [(one.role, one.content, len(one.tool_calls)) for one in messages] == [
            ("assistant", "One moment.", 2),
            ("tool", "ok", 0),
            ("tool", "ok", 0),
        ]
        assert messages[0].reasoning == "First.\n\nThen."


def test_thoughts_that_led_to_nothing_are_left_out() -> None:
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    assert shape([{"role": "user", "content": "Hi"}, thought]) == [("user", "Hi")]
    assert shape([thought, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}]) == [("user", "Hi")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (["a", "b"], "a\nb"),
        ([{"text": "a"}, {"type": None, "text": "b", "image_url": None}, {"type": "text", "text": None}], "a\nb"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)
def test_content_is_text_or_parts_of_text(content: Any, text: str) -> None:
    assert shape([{"role": "user", "content": content}]) == [("user", text)]


def test_the_earlier_form_of_calls() -> None:
    """One call a message, without an id; the result names the function."""
    asks = {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"x": 1}'}}
    gets = {"role": "function", "name": "find", "content": "x is 1"}
    assert shape([USER, asks, gets, asks, gets, {"role": "assistant", "content": "It is 1."}]) == [
        ("user", "Hi"),
        *[("assistant", "", ["call_of_find"]), ("tool", "x is 1")] * 2,
        ("assistant", "It is 1."),
    ]
    assert task_of([asks, gets]).messages[0].tool_calls[0].arguments == '{"x": 1}'


def test_a_refusal_is_what_the_assistant_said() -> None:
    assert shape([USER, {"role": "assistant", "content": None, "refusal": "I can't."}]) == [
        ("user", "Hi"),
        ("assistant", "I can't."),
    ]


@pytest.mark.parametrize(("given", "kept"), [({"city": "Zürich"}, '{"city": "Zürich"}'), (None, "{}"), ({}, "{}")])
def test_arguments_are_kept_as_a_model_would_write_them(given: Any, kept: str) -> None:
    [call, _] = task_of([{**call_item("a", "1"), "arguments": given}, output_item("1")]).messages
    assert call.tool_calls[0].arguments == kept


def test_arguments_may_be_spelled_as_an_object() -> None:
    [call, _] = task_of([{**call_item("a", "1"), "arguments": {"x": [1]}}, output_item("1")]).messages
    assert call.tool_calls[0].arguments == '{"x": [1]}'


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (None, "expected a list of messages, got NoneType"),
        ({"input": []}, "expected a list of messages, got dict"),
        ([USER, "Hi"], "messages[1]: expected a message, got str"),
        ([{"content": "Hi"}], "messages[0]: role is missing"),
        ([{"role": "user"}], "messages[0]: content is missing"),
        ([{"role": "bot", "content": "Hi"}],
         "messages[0]: role 'bot' is none of system, developer, user, assistant, tool"),
        ([{"role": ["user"], "content": "Hi"}], "messages[0]: role ['user'] is none of"),
        ([{"type": "web_search_call"}], "messages[0]: items of type 'web_search_call' can't be read"),
        ([{"role": "user", "content": 5}], "messages[0]: content: expected text, got int"),
        ([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}],
         "messages[0]: content of type 'input_image': only text can be read"),
        ([{"role": "user", "content": [5]}], "messages[0]: content of type 'int': only text can be read"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}],
         "messages[0]: content of type 'tool_use': only text can be read; calls go into tool_calls, and results"),
        ([{"role": "user", "content": "Hi", "tool_calls": [CALL]}], "messages[0]: a user message calls no tools"),
        ([{"role": "assistant", "tool_calls": ["find"]}], "messages[0]: expected a tool call, got str"),
        ([{"role": "assistant", "tool_calls": [{"id": "c", "function": "find"}]}],
         "messages[0]: expected the function of a tool call, got str"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}],
         "messages[0]: id is missing"),
        ([{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}],
         "messages[0]: arguments is missing"),
        ([{"role": "tool", "content": "x"}], "messages[0]: tool_call_id is missing"),
        ([{"type": "function_call", "name": "f", "arguments": "{}"}], "messages[0]: call_id is missing"),
        ([{"type": "function_call_output", "call_id": "c"}], "messages[0]: output is missing"),
        ([output_item("c", {"x": 1})], "messages[0]: content: expected text, got dict"),
        ([USER, {"role": "system", "content": "Be."}], "messages[1]: system messages come before all others"),
        ([USER, output_item("c")], "messages[1]: it answers call 'c', which is not open"),
        ([call_item("a", "c"), output_item("c"), output_item("c")], "messages[2]: it answers call 'c', which is not open"),
        ([call_item("a", "1"), call_item("b", "2"), output_item("1"), USER],
         "messages[3]: call '2' before it has no result"),
        ([call_item("a", "1"), call_item("b", "1"), output_item("1")], "messages[0]: two calls have the id '1'"),
        ([USER, call_item("a", "1")], "messages[1]: the last call, '1', has no result"),
        ([{"role": "assistant", "tool_calls": [{"id": 7, "name": "f", "arguments": "{}"}]},
          {"role": "tool", "tool_call_id": 7, "content": "x"}], "messages[0]: the id of a call has to be text"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(messages: Any, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        task_of(messages)
    assert told in str(caught.value)


def test_a_task_comes_back_from_its_json() -> None:
    for spelling in (CHAT, ITEMS):
        task = task_of(spelling, task_id="t")
        assert Task.model_validate_json(task.model_dump_json()) == task
        assert Task.model_validate(task.model_dump()) == task
    assert Task(messages=task_of(CHAT).messages) == task_of(CHAT), "messages that were read already"
    assert Task(messages=(EarlierMessage(role="user", content="Hi"),)) == task_of([USER])


texts = st.sampled_from(["", "a", "b"])
ids = st.sampled_from(["1", "2"])
call_parts = st.builds(lambda name: {"id": name, "name": "f", "arguments": "{}"}, ids)
any_item = st.one_of(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "developer"]), texts),
    st.builds(
        lambda text, thought, made: {"role": "assistant", "content": text, "reasoning": thought, "tool_calls": made},
        texts, texts, st.lists(call_parts, max_size=2),
    ),
    st.builds(lambda text: {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}, texts),
    st.builds(lambda call_id: call_item("f", call_id), ids),
    st.builds(output_item, ids, texts),
    st.builds(lambda call_id, text: {"role": "tool", "tool_call_id": call_id, "content": text}, ids, texts),
)  # fmt: skip


@given(st.lists(any_item, max_size=7))
def test_the_plain_form_is_its_own_plain_form(items: list[dict[str, Any]]) -> None:
    try:
        kept = read_conversation(items)
    except ValueError as error:
        assert str(error).startswith("messages")
        return
    assert read_conversation(kept) == kept
    task = task_of(items)
    assert Task.model_validate_json(task.model_dump_json()) == task
