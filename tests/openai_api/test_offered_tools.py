"""Checks that tools of any type that agents offer in OpenAI's APIs are read, and called as the agent knows them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ray_gym.messages import Message, ToolCall
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, chat_events, read_chat
from ray_gym.openai_api.json_body import parse_json
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.responses import read_responses, response, response_events
from ray_gym.play.capture import canonical_form

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
LOOK = {"type": "function", "name": "look", "parameters": PARAMETERS}
SPACE = {"type": "namespace", "name": "files", "description": "Files.", "tools": [LOOK, {**LOOK, "name": "move"}]}
PATCH = {
    "type": "custom",
    "name": "patch",
    "description": "Applies it.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"},
}
SEARCH = {"type": "web_search", "external_web_access": True}


def read(**fields: Any) -> Any:
    return read_responses({"model": "m", "input": "Hi", **fields})


def test_each_tool_is_a_function_or_left_out() -> None:
    asked = read(tools=[LOOK, SPACE, PATCH, SEARCH, {"type": "mcp", "server_label": "x"}])
    assert [tool.name for tool in asked.tools] == ["look", "files__look", "files__move", "patch"]
    assert (
        asked.tools[3].parameters["required"] == ["input"] and "lark grammar:\nstart: X" in asked.tools[3].description
    )
    assert asked.left_out == ("tools.mcp", "tools.web_search")


def test_a_free_form_tool_of_a_namespace_keeps_its_place() -> None:
    asked = read(tools=[{**SPACE, "tools": [PATCH]}])
    said = Completion(Message("assistant", tool_calls=(ToolCall("1", "files__patch", '{"input": "x"}'),)))
    [call] = response(said, asked, "r", 1)["output"]
    assert (call["type"], call["namespace"], call["name"]) == ("custom_tool_call", "files", "patch")
    result = {"type": "custom_tool_call_output", "call_id": "1", "output": "b"}
    [again] = read(tools=[{**SPACE, "tools": [PATCH]}], input=[call, result]).messages[0].tool_calls
    assert again.name == "files__patch"


def test_tools_whose_flat_names_are_the_same_are_told_apart() -> None:
    files = {"type": "namespace", "name": "files", "tools": [LOOK, {**PATCH, "name": "a__b"}]}
    others = [{**files, "name": "files__"}, {**files, "name": "files__a", "tools": [{**LOOK, "name": "b"}]}]
    tools = [files, *others, {**LOOK, "name": "files__look"}]
    asked = read(tools=tools, tool_choice={"type": "function", "name": "look", "namespace": "files__"})
    shown = ["files__look_2", "files__a__b", "files__look_3", "files__a__b_2", "files__a__b_3", "files__look"]
    assert [tool.name for tool in asked.tools] == shown and [tool.name for tool in asked.allowed_tools] == [shown[2]]
    calls = tuple(ToolCall(name, name, '{"input": "x"}') for name in shown)
    output = response(Completion(Message("assistant", tool_calls=calls)), asked, "r", 1)["output"]
    known = [("files", "look"), ("files", "a__b"), ("files__", "look"), ("files__", "a__b"), ("files__a", "b")]
    assert [(call.get("namespace"), call["name"]) for call in output] == [*known, (None, "files__look")]
    results = [{"type": call["type"] + "_output", "call_id": call["call_id"], "output": "done"} for call in output]
    again = read(tools=tools, input=[{"role": "user", "content": "Hi"}, *output, *results])
    assert again.messages[1].tool_calls == calls


@pytest.mark.parametrize("toolless", [{}, {"tools": None}])
def test_a_namespace_without_tools_is_left_out(toolless: dict[str, Any]) -> None:
    empty = {"type": "namespace", "name": "x", **toolless}
    asked = read(tools=[empty, {**SPACE, "tools": [LOOK, empty]}], tool_choice={"type": "namespace", "name": "x"})
    assert [tool.name for tool in asked.tools] == ["files__look"]
    assert asked.left_out == ("tool_choice.namespace", "tools.namespace") and asked.tool_choice == "auto"


@pytest.mark.parametrize("nameless", [{"name": None}, {"name": ""}, {}])
def test_namespaces_may_be_nested_and_nameless(nameless: dict[str, Any]) -> None:
    inner = {"type": "namespace", "name": "old", "description": "Old ones.", "tools": [{**LOOK, "description": "L."}]}
    outer = {"type": "namespace", "name": "files", "description": "Files.", "tools": [inner, {**LOOK, "name": "move"}]}
    plain = {"type": "namespace", "tools": [{**LOOK, "description": "L."}, PATCH, SEARCH], **nameless}
    asked = read(tools=[outer, plain])
    told = {tool.name: tool.description for tool in asked.tools}
    assert list(told) == ["files__old__look", "files__move", "look", "patch"]
    assert list(told.values())[:3] == ["Files.\n\nOld ones.\n\nL.", "Files.", "L."]
    said = Completion(
        Message("assistant", tool_calls=(ToolCall("1", "files__old__look", "{}"), ToolCall("2", "look", "")))
    )
    nested, bare = response(said, asked, "r", 1)["output"]
    assert (nested["namespace"], nested["name"]) == ("files__old", "look")
    assert (bare["type"], bare.get("namespace"), bare["name"]) == ("function_call", None, "look")
    again = read(tools=[outer], input=[nested, {"type": "function_call_output", "call_id": "1", "output": "x"}])
    assert again.messages[0].tool_calls[0].name == "files__old__look" and asked.left_out == ("tools.web_search",)


def test_a_namespaces_description_stands_before_those_of_its_tools() -> None:
    spelled = {"type": "function", "function": {"name": "go", "description": "Goes."}}
    asked = read(tools=[{**SPACE, "tools": [LOOK, PATCH, spelled]}])
    assert [tool.name for tool in asked.tools] == ["files__look", "files__patch", "files__go"]
    look, patch, go = (tool.description for tool in asked.tools)
    assert (look, go) == ("Files.", "Files.\n\nGoes.") and patch.startswith(
        "Files.\n\nApplies it.\n\nThe input follows"
    )


def test_calls_come_back_as_the_agent_sent_the_tools() -> None:
    asked = read(tools=[LOOK, SPACE, PATCH], stream=True)
    calls = (
        ToolCall("1", "look", '{"path": "a"}'),
        ToolCall("2", "files__look", "{}"),
        ToolCall("3", "patch", '{"input": "*** 你好"}'),
        ToolCall("4", "patch", "not json"),
    )
    said = Completion(Message("assistant", tool_calls=calls))
    plain, spaced, free, odd = response(said, asked, "r", 1)["output"]
    assert (plain["type"], plain["name"], plain.get("namespace")) == ("function_call", "look", None)
    assert (spaced["type"], spaced["name"], spaced["namespace"]) == ("function_call", "look", "files")
    assert (free["type"], free["name"], free["input"], free["call_id"]) == (
        "custom_tool_call",
        "patch",
        "*** 你好",
        "3",
    )
    assert odd["input"] == "not json"
    events = [json.loads(event.split("data: ")[1]) for event in response_events(said, asked, "r", 1)]
    kinds = [event["type"] for event in events if event.get("output_index") == 2]
    inner = ["response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"]
    assert kinds == ["response.output_item.added", *inner, "response.output_item.done"]
    assert (
        next(
            event["item"]["input"]
            for event in events
            if event["type"] == "response.output_item.added" and event["output_index"] == 2
        )
        == ""
    )


def test_what_the_agent_sends_back_is_the_same_conversation() -> None:
    asked = read(tools=[SPACE, PATCH])
    calls = (ToolCall("2", "files__look", "{}"), ToolCall("3", "patch", '{"input": "*** x"}'))
    output = response(Completion(Message("assistant", tool_calls=calls)), asked, "r", 1)["output"]
    results = [
        {"type": "function_call_output", "call_id": "2", "output": "a"},
        {"type": "custom_tool_call_output", "call_id": "3", "output": "b"},
        {"type": "web_search_call", "id": "ws", "status": "completed"},
    ]
    again = read(input=[{"role": "user", "content": "Hi"}, *output, *results], tools=[SPACE, PATCH])
    assert again.messages[1].tool_calls == calls and [one.content for one in again.messages[2:]] == ["a", "b"]
    assert again.left_out == ("input.web_search_call",)


@pytest.mark.parametrize(
    ("choice", "read_as", "allowed"),
    [
        ({"type": "custom", "name": "patch"}, "required", ["patch"]),
        ({"type": "function", "name": "look", "namespace": "files"}, "required", ["files__look"]),
        ({"type": "web_search"}, "auto", ["files__look", "files__move", "patch"]),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "custom", "name": "patch"}, {"type": "mcp"}],
            },
            "required",
            ["patch"],
        ),
    ],
)
def test_choices_of_tools(choice: Any, read_as: str, allowed: list[str]) -> None:
    asked = read(tools=[SPACE, PATCH, SEARCH], tool_choice=choice)
    assert asked.tool_choice == read_as and [tool.name for tool in asked.allowed_tools] == allowed


@pytest.mark.parametrize(
    ("fields", "left_out"),
    [
        ({"reasoning": {"effort": "high", "summary": "auto"}}, ("reasoning.effort",)),
        ({"text": {"verbosity": "low"}}, ("text.verbosity",)),
        ({"truncation": "auto", "max_tool_calls": 3}, ("max_tool_calls", "truncation")),
        ({"reasoning": {"summary": "auto"}, "text": {"verbosity": "medium"}, "store": False}, ()),
        ({"include": ["reasoning.encrypted_content"], "prompt_cache_key": "x", "client_metadata": {"a": "b"}}, ()),
    ],
)
def test_a_service_that_is_not_here_is_left_out_and_named(fields: dict[str, Any], left_out: tuple[str, ...]) -> None:
    assert read(**fields).left_out == left_out


def test_chat_completions_leave_out_alike() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    asked = read_chat({"model": "m", "messages": messages, "reasoning_effort": "low", "web_search_options": {}})
    assert asked.left_out == ("reasoning_effort", "web_search_options")


GRAMMAR = {"type": "grammar", "grammar": PATCH["format"]}
CHAT_PATCH = {"type": "custom", "custom": {"name": "patch", "description": "Applies it.", "format": GRAMMAR}}
CHAT_LOOK = {"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}
HELLO = {"role": "user", "content": "Hi"}


def read_as_chat(*messages: Any, **fields: Any) -> Any:
    return read_chat({"model": "m", "messages": [HELLO, *messages], "tools": [CHAT_LOOK, CHAT_PATCH], **fields})


def test_free_form_tools_of_chat_completions_are_those_of_responses() -> None:
    asked = read_as_chat(tools=[CHAT_LOOK, CHAT_PATCH, SEARCH])
    assert asked.tools == read(tools=[LOOK, PATCH]).tools and asked.left_out == ("tools.web_search",)


def test_calls_of_free_form_tools_in_chat_completions_go_there_and_back() -> None:
    calls = (
        ToolCall("1", "look", '{"path": "a"}'),
        ToolCall("2", "patch", '{"input": "*** \u4f60"}'),
        ToolCall("3", "patch", "odd"),
    )
    said, asked = Completion(Message("assistant", tool_calls=calls)), read_as_chat()
    choice = chat_completion(said, asked, "r", 1)["choices"][0]
    look, patch, odd = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and look["function"]["name"] == "look"
    assert patch == {"id": "2", "type": "custom", "custom": {"name": "patch", "input": "*** \u4f60"}}
    assert odd["custom"]["input"] == "odd"
    [delta, *_] = [json.loads(event[6:]) for event in chat_events(said, asked, "r", 1) if "DONE" not in event]
    assert delta["choices"][0]["delta"]["tool_calls"][1] == {**patch, "index": 1}
    results = [{"role": "tool", "tool_call_id": one.id, "content": "done"} for one in calls]
    again = read_as_chat({"role": "assistant", "content": None, "tool_calls": [look, patch, odd]}, *results)
    assert again.messages[1].tool_calls[:2] == calls[:2]
    assert canonical_form(again.messages[1]) == canonical_form(said.message), "it is the same conversation"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"input": "*** x", "why": "y"}',
        '{"why": "y", "input": ""}',
        '{"input": 5}',
        '{"input": {"input": "x"}}',
        '{"arguments": "x"}',
        '{"input": "x"',
        r'{"input": "x\ud83d"}',
        '{"input": " [1, 2] "}',
        "[1, 2]",
        '"x"',
        "5e3",
        "null",
        " *** x ",
        "{}",
        "",
    ],
)
def test_a_call_of_a_free_form_tool_is_recognised_whatever_the_model_wrote(arguments: str) -> None:
    said = Message("assistant", tool_calls=(ToolCall("1", "patch", arguments),))
    [call] = response(Completion(said), read(tools=[PATCH]), "r", 1)["output"]
    result = {"type": "custom_tool_call_output", "call_id": "1", "output": "done"}
    items = parse_json(json.dumps([{"role": "user", "content": "Hi"}, call, result]).encode())
    again = read(tools=[PATCH], input=items)
    assert canonical_form(again.messages[1]) == canonical_form(said)


def test_a_free_form_tool_gets_all_that_the_model_wrote_beside_its_text() -> None:
    said = Message("assistant", tool_calls=(ToolCall("1", "patch", '{"input": "*** x", "why": "y"}'),))
    [call] = chat_completion(Completion(said), read_as_chat(), "r", 1)["choices"][0]["message"]["tool_calls"]
    assert call["custom"]["input"] == '{"input": "*** x", "why": "y"}'


def test_a_call_of_a_free_form_tool_with_a_field_that_is_not_read_is_refused_by_name() -> None:
    call = {"id": "2", "type": "custom", "custom": {"name": "patch", "input": "x", "mood": "good"}}
    result = {"role": "tool", "tool_call_id": "2", "content": "done"}
    with pytest.raises(Refused, match="mood of a tool call"):
        read_as_chat({"role": "assistant", "tool_calls": [call]}, result)


@pytest.mark.parametrize(
    ("choice", "read_as", "allowed"),
    [
        ({"type": "custom", "custom": {"name": "patch"}}, "required", ["patch"]),
        ({"type": "function", "function": {"name": "look"}}, "required", ["look"]),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [CHAT_PATCH, CHAT_LOOK]}},
            "auto",
            ["look", "patch"],
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [CHAT_PATCH]}},
            "required",
            ["patch"],
        ),
    ],
)
def test_choices_of_tools_in_chat_completions(choice: Any, read_as: str, allowed: list[str]) -> None:
    asked = read_as_chat(tool_choice=choice)
    assert asked.tool_choice == read_as and [tool.name for tool in asked.allowed_tools] == allowed


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ({"type": "namespace", "name": "x", "tools": {}}, "of type 'namespace'"),
        ({**SPACE, "name": 5}, "of type 'namespace'"),
        ({**SPACE, "description": ["x"]}, "of type 'namespace'"),
        ({**SPACE, "tools": [LOOK, LOOK]}, "the same name"),
        ({**SPACE, "tools": [{"type": "function"}]}, "needs a name"),
        ({**SPACE, "tools": [{"type": "a b", "name": "x"}]}, "of type 'a b'"),
        ({"type": "odd\r\nX-Left-Out: all"}, "of type 'odd"),
        ({"type": "x" * 60}, "of type 'xxx"),
        ({"type": ""}, "of type ''"),
        ({"type": 5, "name": "x"}, "of type '5'"),
        ({"type": "custom"}, "needs a name"),
        ({"description": "Looks."}, "needs a name"),
        (3, "got int"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_tool_is_refused_by_the_type_that_came(tool: Any, told: str) -> None:
    for asked in (lambda: read(tools=[tool]), lambda: read_as_chat(tools=[tool])):
        with pytest.raises(Refused, match=f"^invalid_request: tools: .*{told}"):
            asked()


NEXT = {"type": "web_search_2099"}
VENDORS = {"type": "vendor:clock", "parameters": {"zone": "UTC"}}


def test_tools_of_unknown_types_are_left_out_and_named() -> None:
    asked = read(tools=[LOOK, NEXT, {**SPACE, "tools": [SEARCH, VENDORS, {**LOOK, "name": "move"}]}])
    chat = read_as_chat(tools=[CHAT_LOOK, NEXT, VENDORS, SEARCH])
    assert [tool.name for tool in asked.tools] == ["look", "files__move"]
    assert [tool.name for tool in chat.tools] == ["look"]
    assert asked.left_out == chat.left_out == ("tools.vendor:clock", "tools.web_search", "tools.web_search_2099")


@pytest.mark.parametrize("field", ["input_schema", "inputSchema"])
def test_the_schema_of_a_tool_in_the_form_of_another_api_is_its_parameters(field: str) -> None:
    anthropics = {"name": "look", field: PARAMETERS}
    tools: list[Any] = [anthropics, {**anthropics, "type": "custom"}, {**anthropics, "type": "function"}]
    tools += [
        {"type": "function", "function": anthropics},
        {**CHAT_LOOK, "function": {"name": "look"}, field: PARAMETERS},
    ]
    for tool in tools:
        for asked in (read(tools=[tool]), read_as_chat(tools=[tool])):
            assert asked.tools == read(tools=[LOOK]).tools
            assert asked.left_out == () and asked.known_as == {}


@pytest.mark.parametrize(
    ("more", "told"),
    [({"input_schema": {"type": "object"}}, "differ"), ({"inputSchema": "x"}, "inputSchema: expected")],
)
def test_a_second_schema_of_a_tool_is_refused_unless_it_is_the_same(more: dict[str, Any], told: str) -> None:
    for asked in (lambda: read(tools=[{**LOOK, **more}]), lambda: read_as_chat(tools=[{**LOOK, **more}])):
        with pytest.raises(Refused, match=f"^invalid_request: tools: tool look: .*{told}"):
            asked()
    assert read(tools=[{**LOOK, "input_schema": PARAMETERS}]).tools == read(tools=[LOOK]).tools


def test_published_fields_of_functions_that_ask_for_a_service_have_no_effect() -> None:
    more = {"async": True, "allowed_callers": ["programmatic"], "defer_loading": True, "output_schema": PARAMETERS}
    assert read(tools=[{**LOOK, **more}]).tools == read(tools=[LOOK]).tools


@pytest.mark.parametrize(
    ("choice", "noted"),
    [
        ("required", "required"),
        ({"type": "web_search"}, "web_search"),
        ({"type": "web_search_2099"}, "web_search_2099"),
        ({"type": "computer_use"}, "computer_use"),
        ({"type": "allowed_tools", "mode": "required", "tools": [SEARCH, NEXT]}, "allowed_tools"),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NEXT]}}, "allowed_tools"),
    ],
)
def test_a_choice_that_only_tools_which_are_left_out_could_meet_counts_as_auto(choice: Any, noted: str) -> None:
    empty = {**SPACE, "tools": [NEXT]}
    for asked in (
        read(tools=[SEARCH, empty], tool_choice=choice),
        read_as_chat(tools=[SEARCH, NEXT], tool_choice=choice),
    ):
        assert (asked.tool_choice, asked.tools, asked.allowed_tools) == ("auto", (), ())
        assert asked.left_out == (f"tool_choice.{noted}", "tools.web_search", "tools.web_search_2099")
    if choice != "required":
        asked = read(tools=[LOOK, SEARCH, NEXT], tool_choice=choice)
        assert (asked.tool_choice, asked.allowed_tools) == ("auto", asked.tools) and asked.tools


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_of_allowed_tools_those_that_are_here_may_be_called(mode: str) -> None:
    listed = {"mode": mode, "tools": [SEARCH, NEXT, LOOK]}
    asked = read(tools=[LOOK, PATCH, SEARCH, NEXT], tool_choice={"type": "allowed_tools", **listed})
    chat = read_as_chat(
        tools=[CHAT_LOOK, CHAT_PATCH, SEARCH, NEXT], tool_choice={"type": "allowed_tools", "allowed_tools": listed}
    )
    for one in (asked, chat):
        assert (one.tool_choice, [tool.name for tool in one.allowed_tools]) == (mode, ["look"])
        assert one.left_out == ("tools.web_search", "tools.web_search_2099")


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("required", "no tools to call"),
        ({"type": "web_search_2099"}, "expected auto"),
        ({"type": "none"}, "expected auto"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "no tool of that name"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [SEARCH, {**LOOK, "name": "fly"}]}, "no tool of that name"),
    ],
)
def test_a_choice_that_no_tool_could_meet_is_refused(choice: Any, told: str) -> None:
    for asked in (lambda: read(tool_choice=choice), lambda: read_as_chat(tools=[], tool_choice=choice)):
        with pytest.raises(Refused, match=f"^invalid_request: tool_choice: .*{told}"):
            asked()
