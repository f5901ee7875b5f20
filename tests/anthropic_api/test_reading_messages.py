"""Checks how bodies of the Messages API are read: as the same conversations that the other dialects spell."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ray_gym.anthropic_api.request import read_count_request, read_message_request
from ray_gym.messages import Message, ToolCall
from ray_gym.openai_api.chat import read_chat
from ray_gym.openai_api.left_out import MOST_LEFT_OUT
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.openai_api.responses import read_responses
from ray_gym.openai_api.sampling import MOST_TOKENS

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


def read(*messages: Any, **more: Any) -> ApiRequest:
    said = list(messages) or [user("Hello")]
    return read_message_request({"model": "small", "max_tokens": 64, "messages": said, **more})


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(id: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "read", "input": given}


def result(id: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, **({} if content is None else {"content": content}), **more}


def test_a_conversation_is_the_same_in_all_three_dialects() -> None:
    messages = read(
        user(text("Look."), text("And tell me.", cache_control={"type": "ephemeral"})),
        assistant(
            {"type": "thinking", "thinking": "I look.", "signature": "x"}, text("Wait."), use("a", path="é"), use("b")
        ),
        user(result("a", [text("one"), text("two")]), result("b", "none"), text("Go on.")),
        assistant("Done."),
        user("Thanks."),
        system=[text("Be brief."), text("Be kind.", cache_control={"type": "ephemeral"})],
        tools=[READ],
    )
    calls = [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "é"}'}},
        {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
    ]
    told = {"name": "read", "description": "Read a file.", "parameters": SCHEMA}
    chat = read_chat(
        {
            "model": "small",
            "tools": [{"type": "function", "function": told}],
            "messages": [
                {"role": "system", "content": "Be brief.\nBe kind."},
                {"role": "user", "content": "Look.\nAnd tell me."},
                {"role": "assistant", "content": "Wait.", "reasoning": "I look.", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "a", "content": "one\ntwo"},
                {"role": "tool", "tool_call_id": "b", "content": "none"},
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Thanks."},
            ],
        }
    )
    items = [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]  # type: ignore[dict-item]
    responses = read_responses(
        {
            "model": "small",
            "instructions": "Be brief.\nBe kind.",
            "tools": [{"type": "function", **told}],
            "input": [
                {"role": "user", "content": "Look.\nAnd tell me."},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]},
                {"role": "assistant", "content": "Wait."},
                *items,
                {"type": "function_call_output", "call_id": "a", "output": "one\ntwo"},
                {"type": "function_call_output", "call_id": "b", "output": "none"},
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Thanks."},
            ],
        }
    )
    assert messages.messages == chat.messages == responses.messages
    assert messages.tools == chat.tools == responses.tools


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (result("a"), ""),
        (result("a", ""), ""),
        (result("a", [], is_error=True), "error"),
        (result("a", "no such file", is_error=True), "no such file"),
        (result("a", [text("x")], is_error=False, cache_control={"type": "ephemeral"}), "x"),
        (result("a", [{"type": "tool_reference", "tool_name": "grep"}]), "grep"),
        (
            result("a", [{"type": "search_result", "title": "T", "source": "http://a", "content": [text("found")]}]),
            "T\nhttp://a\nfound",
        ),
    ],
)
def test_a_result_is_its_text(block: Any, told: str) -> None:
    asked = read(user("x"), assistant(use("a")), user(block))
    assert asked.messages[-1] == Message("tool", told, tool_call_id="a")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"source": {"type": "text", "media_type": "text/plain", "data": "One.\nTwo."}}, "One.\nTwo."),
        ({"source": {"type": "content", "content": [text("One."), text("Two.")]}, "title": "T"}, "T\nOne.\nTwo."),
        ({"source": {"type": "content", "content": "One."}, "title": None, "context": "C"}, "C\nOne."),
    ],
)
def test_a_document_that_is_text_is_read_as_text(document: dict[str, Any], told: str) -> None:
    block = {"type": "document", "citations": {"enabled": False}, **document}
    asked = read(user(block, text("Sum it up.")), assistant(use("a")), user(result("a", [block])))
    assert [asked.messages[0].content, asked.messages[-1].content] == [f"{told}\nSum it up.", told]
    assert asked.left_out == ()


def test_a_compaction_is_its_summary_and_what_hosted_tools_did_is_left_out() -> None:
    searched = [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]}
    failed = {"type": "compaction", "content": None}
    summed = {"type": "compaction", "content": "Greetings.", "encrypted_content": "x", "tool_changes": [{"a": 1}]}
    said = [assistant(summed, *searched, found, text("Yes.")), assistant(*searched), assistant(failed, text("And?"))]
    asked = read(user("x"), *said, user("y"))
    assert [one.content for one in asked.messages] == ["x", "Greetings.\nYes.", "And?", "y"]
    assert asked.left_out == (
        "messages.compaction.tool_changes",
        "messages.server_tool_use",
        "messages.web_search_tool_result",
    )


@pytest.mark.parametrize(
    ("messages", "more", "left_out"),
    [
        ([{**user("x"), "name": "Ann", "id": "m", "stop_reason": None}], {}, ("messages.name",)),
        ([user(text("x", citations=[{"type": "char_location"}], some=1))], {}, ("messages.text.some",)),
        (
            [user("x"), assistant({**use("a"), "caller": {"type": "direct"}, "some": 1}), user(result("a", some=1))],
            {},
            ("messages.tool_result.some", "messages.tool_use.some"),
        ),
        (
            [user("x"), assistant({**use("a"), "caller": {"type": "code_execution_20260120"}}), user(result("a"))],
            {},
            ("messages.tool_use.caller",),
        ),
        (
            [
                user("x"),
                assistant(use("a")),
                user(result("a", [{"type": "tool_reference", "tool_name": "x", "some": 1}, {"type": "browser_state"}])),
            ],
            {},
            ("messages.browser_state", "messages.tool_reference.some"),
        ),
        (
            [
                user(
                    {
                        "type": "document",
                        "citations": {"enabled": True},
                        "source": {"type": "content", "content": [text("x", some=1)]},
                    }
                )
            ],
            {},
            ("messages.document.citations", "messages.text.some"),
        ),
        ([user("x")], {"tools": [{**READ, "input_examples": [{}], "strict": True}]}, ("tools.input_examples",)),
        ([user("x")], {"tools": [{**READ, "some": 1}], "tool_choice": {"type": "any", "of": 1}},
         ("tool_choice.of", "tools.some")),
        ([user("x")], {"output_config": {"task_budget": {"total": 9}}}, ("output_config.task_budget",)),
    ],
)  # fmt: skip
def test_a_field_that_is_not_read_is_named(
    messages: list[Any], more: dict[str, Any], left_out: tuple[str, ...]
) -> None:
    assert read(*messages, **more).left_out == left_out


@pytest.mark.parametrize("typed", [{}, {"type": None}])
def test_a_block_without_a_type_is_text_as_in_the_other_dialects(typed: dict[str, Any]) -> None:
    part = {**typed, "text": "Say"}
    messages = read(user(part), assistant(part, use("a")), user(result("a", [part])), system=[part])
    assert messages == read(user("Say"), assistant(text("Say"), use("a")), user(result("a", "Say")), system="Say")
    chat = read_chat({"model": "small", "max_tokens": 64, "messages": [user(part)]})
    assert chat.messages == read(user(part)).messages
    with pytest.raises(Refused, match="content of type 'text': text has to be text"):
        read(user({**typed, "text": 5}))


def test_results_come_before_the_words_beside_them_and_a_call_said_one_by_one_is_one_answer() -> None:
    asked = read(user("x"), assistant(use("a")), assistant(use("b")), user(text("Hurry."), result("b"), result("a")))
    assert [(one.role, one.tool_call_id or one.content) for one in asked.messages] == [
        ("user", "x"),
        ("assistant", ""),
        ("tool", "b"),
        ("tool", "a"),
        ("user", "Hurry."),
    ]
    assert asked.messages[1].tool_calls == (ToolCall("a", "read", "{}"), ToolCall("b", "read", "{}"))


def test_thoughts_are_reasoning_and_sealed_ones_are_left_out() -> None:
    sealed = {"type": "redacted_thinking", "data": "xyz"}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    asked = read(user("x"), assistant(sealed, thought, text("Yes.")), user("y"))
    assert asked.messages[1] == Message("assistant", "Yes.", "Hm.")


def test_a_system_message_stays_where_it_is_said_and_an_accounts_header_is_no_prompt() -> None:
    billing = text("x-anthropic-billing-header: cc_version=2.1; cch=0a1b2;")
    late = {"role": "system", "content": [text("Now be brief.")]}
    asked = read(user("x"), late, system=[billing, text("You are an agent.")])
    assert [(one.role, one.content) for one in asked.messages] == [
        ("system", "You are an agent."),
        ("user", "x"),
        ("system", "Now be brief."),
    ]
    assert asked.left_out == ("x-anthropic-billing-header",)


@pytest.mark.parametrize("as_blocks", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_what_stands_below_an_accounts_header_is_the_prompt(as_blocks: bool, late: bool) -> None:
    words = "x-anthropic-billing-header: a\nBe a pilot.\nFly."
    given: Any = [text(words)] if as_blocks else words
    asked = read(user("x"), {"role": "system", "content": given}) if late else read(user("x"), system=given)
    assert [one.content for one in asked.messages if one.role == "system"] == ["Be a pilot.\nFly."]
    assert asked.left_out == ("x-anthropic-billing-header",)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (
            [user({"type": "image", "source": {"type": "url", "url": "http://a"}})],
            r"messages\[0\]: .*'image': only text",
        ),
        ([user("x"), user({"type": "document", "source": {}})], r"messages\[1\]: .*'document': only text"),
        ([user({"type": "thinking", "thinking": "x", "signature": ""})], "'thinking': only text"),
        ([user({"type": "text"})], "text has to be text"),
        ([user("x"), assistant(use("a"))], "'a', has no result"),
        ([user("x"), assistant(use("a")), user("y")], r"messages\[2\]: call 'a' before it has no result"),
        ([user(result("a", "x"))], r"messages\[0\]: it answers call 'a', which is not open"),
        ([user("x"), assistant({"type": "tool_use", "name": "f", "input": {}})], "id has to be text"),
        ([user("x"), assistant({"type": "tool_use", "id": "a", "name": "f", "input": "{}"})], "expected an object"),
        ([user("x"), assistant({"type": "some_tool_use", "id": "a"})], "'some_tool_use'"),
        ([user({"type": "document", "source": {"type": "url", "url": "http://a"}})], "no source of type 'url'"),
        ([user({"type": "document", "source": {"type": "text", "data": 3}})], "data has to be text"),
        ([user({"type": "document", "source": {"type": "content", "content": [{"type": "image"}]}})], "'image'"),
        ([assistant({"type": "server_tool_use"})], "there are no messages"),
        ([user("x"), assistant("The answer is")], "none can be continued"),
        ([{"role": "tool", "content": "x"}], "role 'tool' is none of user, assistant, system"),
        ([{"role": "user", "content": 3}], "expected text or a list of blocks"),
        ([user("x"), assistant(use("a")), user(result("a", [{"type": "odd"}]))], r"messages\[2\]: .*'odd'"),
        (["x"], "expected a message"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_place(messages: list[Any], told: str) -> None:
    with pytest.raises(Refused, match=told) as refused:
        read(*messages)
    assert (refused.value.status, refused.value.param) == (400, "messages")


def test_a_prompt_is_counted_as_far_as_it_goes() -> None:
    body = {"model": "small", "messages": [user("x"), assistant(text("I look."), use("a"))], "tools": [READ]}
    asked = read_count_request(body)
    assert [one.role for one in asked.messages] == ["user", "assistant"] and asked.tools[0].name == "read"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ("auto", ["read", "write"], True)),
        ({"type": "auto"}, ("auto", ["read", "write"], True)),
        ({"type": "auto", "disable_parallel_tool_use": True}, ("auto", ["read", "write"], False)),
        ({"type": "any"}, ("required", ["read", "write"], True)),
        ({"type": "tool", "name": "write", "disable_parallel_tool_use": True}, ("required", ["write"], False)),
        ({"type": "none"}, ("none", ["read", "write"], True)),
        ({"type": "tool", "name": "web_search"}, ("auto", ["read", "write"], True)),
    ],
)
def test_a_choice_of_tools(choice: Any, expected: tuple[str, list[str], bool]) -> None:
    asked = read(tools=[READ, {**READ, "name": "write", "type": "custom"}, SEARCH], tool_choice=choice)
    assert (asked.tool_choice, [tool.name for tool in asked.allowed_tools], asked.parallel_tool_calls) == expected
    in_vain = ("tool_choice.tool",) if (choice or {}).get("name") == "web_search" else ()
    assert asked.left_out == (*in_vain, "web_search_20250305") and len(asked.tools) == 2


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "read", "description": "Read a file.", "parameters": SCHEMA},
        {"name": "read", "description": "Read a file.", "inputSchema": SCHEMA, "type": "custom"},
        {"name": "read", "description": "Read a file.", "parameters": SCHEMA, "type": "function"},
        {"function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}, "type": "function"},
    ],
)
def test_a_tool_in_the_form_of_another_api_keeps_its_parameters(tool: dict[str, Any]) -> None:
    asked = read(tools=[tool])
    assert (asked.tools, asked.left_out) == (read(tools=[READ]).tools, ())


def test_a_choice_that_only_left_out_tools_could_meet_is_the_models() -> None:
    asked = read(tools=[SEARCH], tool_choice={"type": "any"})
    assert (asked.tool_choice, asked.tools) == ("auto", ())
    assert asked.left_out == ("tool_choice.any", "web_search_20250305")


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tools": [READ], "tool_choice": {"type": "tool", "name": "other"}}, "tool_choice"),
        ({"tools": [READ], "tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"tools": [READ], "tool_choice": "auto"}, "tool_choice"),
        ({"tools": [READ, READ]}, "tools"),
        ({"tools": ["read"]}, "tools"),
        ({"tools": [{"description": "no name"}]}, "tools"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": None}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"stop_sequences": [""]}, "stop_sequences.0"),
        ({"stop_sequences": "x"}, "stop_sequences"),
        ({"messages": []}, "messages"),
        ({"system": [{"type": "image"}]}, "system"),
        ({"tools": [{"name": "f", "input_schema": []}]}, "tools"),
        ({"tools": [{**READ, "parameters": {"type": "object"}}]}, "tools"),
        ({"thread": {"type": "continue", "previous_message_id": "msg_1"}}, "thread"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format"),
        ({"model": ""}, "model"),
    ],
)
def test_what_is_wrong_is_refused_by_name(more: dict[str, Any], param: str) -> None:
    with pytest.raises(Refused) as refused:
        read(**more)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert re.match(rf"{re.escape(param)}\b", refused.value.message)


def test_sampling_and_format() -> None:
    asked = read(
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        stop_sequences=["END"],
        max_tokens=10**9,
        output_config={"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
    )
    assert asked.sampling == {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "stop": ("END",),
        "max_tokens": MOST_TOKENS,
    }
    assert json.loads(asked.response_format or "")["json_schema"]["schema"] == SCHEMA
    assert asked.left_out == ("output_config.effort",)
    assert read(output_format={"type": "json_schema", "schema": SCHEMA}).response_format == asked.response_format


def test_names_that_come_from_the_caller_are_plain_and_few() -> None:
    odd = {"bad\r\nX-Evil: 1": 1, "snow\u2603": 1, **{f"field_{number}": 1 for number in range(100)}}
    asked = read(**odd, tools=[{"type": "a, b"}, {"type": "\n"}])
    assert asked.left_out[:4] == ("%0A", "a%2C%20b", "bad%0D%0AX-Evil:%201", "field_0")
    assert len(asked.left_out) == MOST_LEFT_OUT + 1 and asked.left_out[-1] == "and 72 more"


def test_the_shape_of_what_a_coding_agent_sends() -> None:
    """The fields, types and enum values of such a request; the texts are made up."""
    kept = {"cache_control": {"type": "ephemeral"}}
    asked = read(
        user(text("<note>one</note>"), text("Create a file.", **kept)),
        {"role": "system", "content": "Something has changed."},
        system=[text("x-anthropic-billing-header: a=b;"), text("You are an agent.", **kept), text("Rules.", **kept)],
        tools=[{**READ, "name": f"tool_{number}"} for number in range(24)],
        metadata={"user_id": "user_1_account__session_2"},
        max_tokens=32000,
        thinking={"type": "adaptive"},
        context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        output_config={"effort": "high"},
        stream=True,
    )
    assert asked.stream and asked.sampling == {"max_tokens": 32000} and len(asked.tools) == 24
    assert [one.role for one in asked.messages] == ["system", "user", "system"]
    assert asked.left_out == ("context_management", "output_config.effort", "thinking", "x-anthropic-billing-header")
